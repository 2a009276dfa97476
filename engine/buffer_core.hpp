#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "databuffer/detail/core.hpp"
#include "engine/consumer.hpp"
#include "engine/hook_table.hpp"
#include "engine/lock.hpp"
#include "engine/overdue_watch.hpp"
#include "engine/partition.hpp"
#include "engine/router.hpp"
#include "engine/seats.hpp"
#include "engine/space_waiters.hpp"

namespace databuffer::detail {

/// A buffer: its partitions, consumers and threads, and its life.
///
/// The life is one way: starting → running → closing → closed. `attention` carries it to the
/// producers, Partition::is_closing to the consumers. Shared by the front and by every thread of
/// the buffer, so that whichever ends last ends it. What belongs to the user (handler, functions of
/// the options, hooks) ends with the front, but for what a stuck handler call still uses.
class BufferCore final : public Core, public std::enable_shared_from_this<BufferCore> {
 public:
  BufferCore(Options options, Parts parts);
  ~BufferCore() override;

  /// Starts the threads; see Core::start.
  void launch();

  // Core.
  InsertBatchResult insert(std::size_t partition_index, Source& source, std::size_t count,
                           Timeout timeout, bool may_wait) override;
  [[nodiscard]] Slot* next_slot(Seat& seat) noexcept override;
  [[nodiscard]] BatchTurn next_slot(Seat& seat, std::size_t count) noexcept override;
  void unreserve(Seat& seat, std::size_t count) noexcept override;
  [[nodiscard]] bool settle(Slot& slot) noexcept override;
  void count_down(const Slot& slot, std::size_t count) noexcept override;
  void flush() noexcept override;
  std::vector<FlushReport> sync_flush(Duration timeout) override;
  CloseReport close(Duration timeout) override;
  void abandon() noexcept override;
  void inspect(std::size_t partition_index, const std::function<void(Cargo&)>& visit) override;
  void take(std::size_t partition_index, const std::function<void(Cargo&)>& collect) override;
  [[nodiscard]] std::size_t size() const noexcept override;
  [[nodiscard]] std::vector<PartitionInfo> info() const override;
  [[nodiscard]] Ledger ledger() const noexcept override;
  [[nodiscard]] Telemetry telemetry() const noexcept override { return Telemetry(hooks_); }
  [[nodiscard]] const Options& options() const noexcept override { return options_; }
  TimePoint do_work(TimePoint now) override;
  [[nodiscard]] TimePoint next_deadline() const noexcept override;

  // For the consumers and the seats.
  [[nodiscard]] TimePoint now() const noexcept { return clock_.now(); }
  [[nodiscard]] Seats& seats() noexcept { return seats_; }
  /// What left the pending items. Requires the turn. Their room is free before they are gone: who
  /// sees that nothing is pending finds room.
  void remove(Partition& partition, const Drain::Taken& taken) noexcept {
    space_waiters_.release(partition, taken.items, taken.weight);
    partition.count_removed(taken.items);
  }
  void notice_call() noexcept;
  void report_overdue(std::size_t partition_index, HandlerCall::Overdue& overdue);
  /// A retired consumer's call has returned after all.
  void end_abandoned(Partition& partition, std::uint64_t held);
  void count_hook_failure() noexcept { hooks_->count_failure(); }

  /// A partition's consumer has nothing left to do.
  void notice_finished() noexcept;
  /// close() has given up: hands what is pending in the partition to on_drop.
  void sweep(Partition& partition) noexcept;

  /// While on_drop may be at work for items that close() gives up: it waits for that.
  class Sweeper {
   public:
    explicit Sweeper(BufferCore& buffer) noexcept;
    ~Sweeper();
    Sweeper(const Sweeper&) = delete;
    Sweeper& operator=(const Sweeper&) = delete;

   private:
    void count(int change) noexcept;
    BufferCore& buffer_;
  };

  /// drop() of items that close() gives up.
  void give_up(Partition& partition, void* items, std::size_t count, DropInfo info) noexcept;
  /// When the last of the calls of close() gives up; steady clock.
  [[nodiscard]] TimePoint close_until() const noexcept;
  /// The front is gone, nobody waits, and `close_timeout` has passed: a consumer gives up for all.
  void give_up_if_left_alone() noexcept;

  /// Gives items to on_drop, counts them as dropped (kFailed: the flusher counts them as failed),
  /// and tells telemetry. They stay where they are.
  void drop(Partition& partition, void* items, std::size_t count, DropInfo info);

  /// Whether anybody is to be told of any of these events: somebody listens, and this thread is not
  /// in a hook already, of whichever buffer. Else a hook on inserts that inserts would never end,
  /// and one that inserts into k buffers would be called for each order in which they can follow.
  [[nodiscard]] bool listens(EventSet events) const noexcept {
    return has_hooks(events) && !RoleFrame::is_in_hook();
  }
  /// Adds the buffer's name and the system time, and calls the hooks.
  void emit(TelemetryEvent& event);

  // For the list of live buffers.
  void refresh_attention() noexcept;
  [[nodiscard]] bool has_producer_inside() const noexcept;
  void make_inert() noexcept;
  [[nodiscard]] bool is_forked() const noexcept;
  [[nodiscard]] bool is_closed() const noexcept;
  [[nodiscard]] bool has_given_up() const noexcept;

 private:
  struct InsertCall;
  class GivenUp;

  /// A thread that runs a consumer.
  struct Worker {
    std::shared_ptr<Consumer> consumer;
    std::thread thread;
    bool has_ended = false;  // has nothing left to do
  };
  /// A call of close() that waits.
  struct Closer {
    TimePoint deadline;
    Closer* next = nullptr;
  };
  enum class PushResult : std::uint8_t { kIn, kClosed, kNoMemory };

  // consumer_threads.cpp
  [[nodiscard]] std::shared_ptr<Consumer> make_consumer(std::size_t partition_index)
      DATABUFFER_REQUIRES(life_mutex_);
  void start_watch();
  void run_consumer(std::size_t partition_index, std::shared_ptr<Consumer> own,
                    std::shared_ptr<BufferCore> self);
  void run(std::size_t partition_index, const std::shared_ptr<Consumer>& own);
  bool pass_on(std::size_t partition_index, const std::shared_ptr<Consumer>& own) noexcept;
  void run_spare(std::size_t partition_index, std::shared_ptr<Consumer> spare,
                 std::shared_ptr<Consumer> stuck, std::uint64_t batch_id,
                 std::shared_ptr<BufferCore> self);
  void prepare_thread(std::size_t partition_index, Consumer& consumer);
  void finish_thread(std::size_t partition_index, const std::shared_ptr<Consumer>& own) noexcept;
  void run_watch(std::shared_ptr<BufferCore> self) noexcept;
  void report_start(std::exception_ptr failure) noexcept;
  void await_start(std::size_t consumer_count, std::exception_ptr failure);
  void replace_consumer(std::size_t partition_index, std::uint64_t batch_id);
  [[nodiscard]] std::shared_ptr<Consumer> consumer(std::size_t partition_index) const noexcept;

  // driving.cpp
  [[nodiscard]] bool is_manual() const noexcept { return options_.threading == Threading::kManual; }
  /// kManual: no consumer is ever replaced, so they are read without the mutex, and not analysed.
  [[nodiscard]] const std::vector<std::shared_ptr<Consumer>>& manual_consumers() const noexcept
      DATABUFFER_NO_THREAD_SAFETY_ANALYSIS {
    return current_;
  }
  [[nodiscard]] bool may_drive() const noexcept;
  [[nodiscard]] bool is_driver() const noexcept;
  [[nodiscard]] std::optional<TimePoint> poll(TimePoint now);
  bool attend(TimePoint deadline, bool must_drive, const std::function<bool()>& is_done);

  // buffer_core.cpp
  [[nodiscard]] bool is_idle(const Partition& partition) const noexcept;
  [[nodiscard]] bool all_finished() const noexcept;

  // closing.cpp
  CloseReport close_by(TimePoint deadline, bool must_drive);
  void begin_close() noexcept;
  [[nodiscard]] bool has_nothing_left() const noexcept;
  bool await_consumers(TimePoint deadline, bool must_drive);
  void enter(Closer& closer) noexcept;
  [[nodiscard]] bool leave(Closer& closer) noexcept;
  void give_up_all() noexcept;
  void give_up_rest() noexcept;
  void await_givers_up() noexcept;
  void tell_given_up(Partition& partition, std::size_t items) noexcept;
  [[nodiscard]] bool is_sweeping() const noexcept;
  bool wait_for_life(TimePoint deadline, const std::function<bool()>& is_so) noexcept
      DATABUFFER_REQUIRES(life_mutex_);
  void join_ended(TimePoint deadline) noexcept;
  void note_end() noexcept;
  CloseReport make_close_report() const noexcept;

  // ending.cpp
  void let_threads_go() noexcept;
  [[nodiscard]] bool end_threads() noexcept;
  void release_user_objects(bool is_stuck) noexcept;

  [[nodiscard]] bool has_hooks(EventSet events) const noexcept {
    return ((hooks_->listening() | process_hooks_->listening()) & events.bits()) != 0;
  }

  // inserts.cpp
  [[nodiscard]] bool is_inserting() const noexcept;
  void insert_items(InsertCall& call, Seat& seat);
  bool insert_some(InsertCall& call, Seat& seat, Slot& slot);
  [[nodiscard]] Slot* find_room(InsertCall& call, Seat& seat) noexcept;
  template <class TakeRoom>
  [[nodiscard]] Slot* find_turn(Seat& seat, TakeRoom take_room) noexcept;
  [[nodiscard]] bool take_room(InsertCall& call, Slot& slot) noexcept;
  void take_back(Seat& seat, std::size_t partition_index) noexcept;
  [[nodiscard]] Gate& gate_of(const Slot& slot) const noexcept {
    return partitions_[slot.partition_index]->gate;
  }
  [[nodiscard]] PushResult push(Slot& slot, Source& source, std::size_t& count) noexcept;
  [[nodiscard]] Slot* overflow(InsertCall& call, Seat& seat);
  [[nodiscard]] Slot* wait_for_room(InsertCall& call, Seat& seat);
  static std::size_t first_piece(const InsertCall& call) noexcept;
  Source::Prepared read(InsertCall& call, std::size_t count);
  Source::Prepared read_on(InsertCall& call, Partition& partition, Slot& slot, std::size_t& room);
  bool read_next(InsertCall& call);
  bool weigh_next(InsertCall& call);
  [[nodiscard]] std::size_t weight_of_prepared(const InsertCall& call,
                                               std::size_t count) const noexcept;
  Source::Prepared prepare_weighed(InsertCall& call, Partition& partition, Slot& slot,
                                   std::size_t& room);
  [[nodiscard]] bool drop_oldest(InsertCall& call, Partition& partition, Slot& slot);
  [[nodiscard]] bool remove_oldest(InsertCall& call, Partition& partition, Slot& slot);
  void drop_newest(InsertCall& call, Partition& partition);
  void drop_stranded(InsertCall& call);
  void count_refused(const InsertCall& call) noexcept;
  std::size_t drop_from_source(InsertCall& call, Partition& partition, std::size_t count);
  void drop_unqueued(InsertCall& call, Partition& partition, Cargo& items, DropReason reason);

  // Fixed after construction, until the front goes away and nobody else is there.
  Options options_;
  Parts parts_;
  const Clock& clock_;
  const std::shared_ptr<HookTable> hooks_;
  const std::shared_ptr<HookTable> process_hooks_;
  std::vector<std::unique_ptr<Partition>> partitions_;
  std::unique_ptr<OverdueWatch> watch_;  // null: flush_timeout is for ever, or kManual by a test
  pid_t creator_ = 0;                    // kManual: the thread that made the buffer

  // Shared; each says by whom.
  Router router_;
  Seats seats_;
  SpaceWaiters space_waiters_;
  std::atomic<bool> is_polling_{false};           // kManual: a thread does the consumers' work
  std::atomic<pid_t> driver_{0};                  // kManual: the thread that called do_work last
  std::atomic<bool> has_watch_{false};            // the watch's thread was started
  std::atomic<bool> is_abandoned_{false};         // the front is gone; who polls finishes by itself
  std::atomic<bool> has_given_up_{false};         // a close reached its deadline
  std::atomic<std::uint64_t> given_up_items_{0};  // written by who gives up; a statistic
  std::atomic<Duration> close_until_{Duration::min()};  // written by close, under life_mutex_

  // In a forked child: this buffer itself, which is never destroyed there. Else null.
  std::shared_ptr<BufferCore> pinned_;

  // Life.
  mutable Mutex life_mutex_;
  Condition life_changed_;
  std::mt19937_64 seeds_ DATABUFFER_GUARDED_BY(life_mutex_);  // for the consumers' jitter
  // Each partition's consumer. Another takes over under kReplace only.
  std::vector<std::shared_ptr<Consumer>> current_ DATABUFFER_GUARDED_BY(life_mutex_);
  // kOwn: threads at work, stuck ones that were replaced, too.
  std::list<Worker> workers_ DATABUFFER_GUARDED_BY(life_mutex_);
  // … that were replaced or not needed, and have ended: to join.
  std::list<Worker> over_ DATABUFFER_GUARDED_BY(life_mutex_);
  std::thread watch_thread_ DATABUFFER_GUARDED_BY(life_mutex_);
  // The watch's thread has something left to do.
  bool is_watch_running_ DATABUFFER_GUARDED_BY(life_mutex_) = false;
  bool are_threads_over_ DATABUFFER_GUARDED_BY(life_mutex_) = false;  // no more are started
  // Consumers whose thread runs, or could not prepare.
  std::size_t started_ DATABUFFER_GUARDED_BY(life_mutex_) = 0;
  std::exception_ptr start_failure_ DATABUFFER_GUARDED_BY(life_mutex_);  // the first
  bool has_close_begun_ DATABUFFER_GUARDED_BY(life_mutex_) = false;
  // Everything was flushed, or given up.
  bool has_close_ended_ DATABUFFER_GUARDED_BY(life_mutex_) = false;
  Closer* closers_ DATABUFFER_GUARDED_BY(life_mutex_) = nullptr;
  int sweepers_ DATABUFFER_GUARDED_BY(life_mutex_) = 0;  // threads that give up for close()
  TimePoint close_began_ DATABUFFER_GUARDED_BY(life_mutex_){};
  Duration close_took_ DATABUFFER_GUARDED_BY(life_mutex_){};
  std::uint64_t failed_before_close_ DATABUFFER_GUARDED_BY(life_mutex_) = 0;
};

}  // namespace databuffer::detail
