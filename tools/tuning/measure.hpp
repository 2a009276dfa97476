#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "tools/tuning/measurement.hpp"
#include "tools/tuning/run.hpp"

namespace databuffer::tuning {

/// `options` with the candidate's values put in.
[[nodiscard]] Options with_candidate(Options options, const Candidate& candidate);

/// How a search's `duration` for one run is divided: a fifth of it warms up, or less where the
/// workload asks for less; the rest is measured.
[[nodiscard]] RunPlan plan_for(Workload workload, Options options, Duration duration);

/// For SearchSettings::least_run_of: how long a run has to be for each partition to flush three
/// times, and a quarter more for the warm-up. It follows rate, batch, max_size and flush_interval.
/// Without a rate it is 0: how fast a closed loop fills a buffer is seen only then.
[[nodiscard]] std::function<Duration(const Candidate& candidate)> run_of_several_flushes(
    const Workload& workload, const Options& base);

namespace detail {

/// One handler for all partitions, shared with the runs that come after.
template <class T, class H>
auto shared_buffer(std::shared_ptr<H> handler) {
  return [handler = std::move(handler)](const Options& options,
                                        const std::shared_ptr<Record>& record) {
    return Buffer<T>(options, [handler, record](Batch<T>& batch, const FlushContext& context) {
      return handle<T>(*record, *handler, batch, context);
    });
  };
}

/// A handler for each partition, made anew in each run, on the partition's thread.
template <class T, class F>
auto own_buffer(std::shared_ptr<F> factory) {
  return [factory = std::move(factory)](const Options& options,
                                        const std::shared_ptr<Record>& record) {
    return Buffer<T>::per_partition(options, [factory, record](std::size_t partition_index) {
      return [handler = std::invoke(*factory, partition_index), record](
                 Batch<T>& batch, const FlushContext& context) mutable {
        return handle<T>(*record, handler, batch, context);
      };
    });
  };
}

template <class T, class H>
auto buffer_maker(H&& handler_or_factory) {
  using Function = std::decay_t<H>;
  auto function = std::make_shared<Function>(std::forward<H>(handler_or_factory));
  if constexpr (databuffer::detail::FlushHandler<Function, T>) {
    return shared_buffer<T>(std::move(function));
  } else {
    static_assert(std::invocable<Function&, std::size_t>,
                  "databuffer: expected a flush handler for items of T, or a factory that is "
                  "called with a partition's index and returns one");
    return own_buffer<T>(std::move(function));
  }
}

}  // namespace detail

/// Measures your items and your handler: what the search (search.hpp) runs.
///
///     auto measure = tuning::make_measure<Event>(
///         {.producers = 4}, {.name = "events"},
///         [](std::uint64_t index) { return Event{index}; },
///         [&](std::span<Event> batch) { database.insert_all(batch); });
///     tuning::Measurement found = measure({.partitions = 2}, 1s);
///
/// `make_item(index)` makes an item; every index is a different one. It is called by all producers
/// at once, outside of what is timed, but its time is the producers'.
/// `handler_or_factory` is what Buffer's constructor takes, one for all runs; or what
/// Buffer::per_partition takes, called anew in each run. After the measured time it is called no
/// more: what is left in the buffer is thrown away.
/// `base` holds all options that a candidate does not set.
///
/// Ages are exact (of sampled items) if T has a member `TimePoint due` or the functions
/// `set_due(TimePoint)` and `due() const`. Else the age is that of the oldest item of each batch,
/// which overstates it (Measurement::is_age_of_oldest).
///
/// Throws      OptionsError for a bad workload. The Measure throws that for a bad candidate, and
///             what run() throws. It ends early, with what it has, once `stop` is requested.
template <class T, class MakeItem, class H>
requires std::convertible_to<std::invoke_result_t<MakeItem&, std::uint64_t>, T> Measure
make_measure(const Workload& workload, Options base, MakeItem make_item, H&& handler_or_factory,
             std::stop_token stop = {}) {
  workload.validate();
  auto maker = std::make_shared<MakeItem>(std::move(make_item));
  return [workload, base = std::move(base), maker = std::move(maker),
          make_buffer = detail::buffer_maker<T>(std::forward<H>(handler_or_factory)),
          stop = std::move(stop)](const Candidate& candidate, Duration duration) {
    return run<T>(plan_for(workload, with_candidate(base, candidate), duration), *maker,
                  make_buffer, stop);
  };
}

}  // namespace databuffer::tuning
