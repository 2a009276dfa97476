/*
Settle, block, release: no producer sleeps for ever while there is room or after close, the
capacity is passed by no more than what is promised, and no room leaks.

Stands for
  engine/gate.hpp         Gate: settle, reserve, admits_batch, finish_reserved, unreserve,
                          settle_up, release, has_room
  engine/room_bell.*      RoomBell: Waiter, wait_until, ring
  engine/inserts.cpp      BufferCore: find_room, insert_some, wait_for_room
  engine/partition.hpp    Partition::remove, and the ring_room() that follows it everywhere
  engine/consumer.cpp     Consumer::gather, as far as it makes room
  engine/closing.cpp      BufferCore::begin_close: `attention`, then the ring

All of it is seq_cst read-modify-writes and loads in the engine, so interleaving is all there is.

Simplified: a consumer flushes a full batch at once (park_ring.pml shows that it is woken) and
nothing less, before close: so a waiting producer gets no help from deadlines. LIMIT = CAPACITY, the
largest that the options allow. With STUCK_HANDLERS only close can release anybody. Producer 0 waits
with a timeout that may end any wait, the others wait for ever. Turns of round robin are left out:
they end with an allowance or before.
A pinned producer (insert_keyed) uses one partition, another goes round robin.
An epoch is the latest or an older one: nothing else is asked of it.
Left out: limits by weight (weight_demand.pml), and what else an insert may do when it is full.

check holds  safety
check holds  safety PARTITIONS=2 ITEMS=3 CAPACITY=2 SETTLE=1
check holds  safety PARTITIONS=2 ITEMS=3 CAPACITY=1 SETTLE=1 FIRST_PINNED=0
check holds  safety STUCK_HANDLERS
check breaks safety BROKEN_TIGHTER_BOUND -> assertion violated
check breaks safety BROKEN_ALLOWANCE_IGNORES_ROOM -> assertion violated
check breaks safety BROKEN_BATCH_ALLOWANCE_IGNORES_ROOM -> assertion violated
check breaks safety BROKEN_UNRESERVE_LETS_THEM_IN -> assertion violated
check breaks safety BROKEN_NO_LOOK_AFTER_ANNOUNCING -> invalid end state
check breaks safety BROKEN_EPOCH_READ_AFTER_LOOK -> invalid end state
check breaks safety BROKEN_RING_BEFORE_RELEASE -> invalid end state
check breaks safety BROKEN_RING_BEFORE_CLOSE STUCK_HANDLERS -> invalid end state
check breaks safety BROKEN_WAKE_WITHOUT_EPOCH -> invalid end state
check breaks safety BROKEN_WAKES_ONE PARTITIONS=2 ITEMS=3 CAPACITY=1 SETTLE=1 FIRST_PINNED=0 -> invalid end state
check breaks safety BROKEN_NO_RING_FOR_UNUSED_ROOM -> invalid end state
check breaks safety BROKEN_UNUSED_ROOM_IS_KEPT -> assertion violated
check breaks safety BROKEN_DEBT_DIES_WITH_THREAD -> assertion violated
*/

#ifndef PARTITIONS
#define PARTITIONS 1
#endif
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef ITEMS
#define ITEMS 4     /* of each producer */
#endif
#ifndef CAPACITY
#define CAPACITY 3
#endif
#ifndef SETTLE
#define SETTLE 2    /* Gate::settle_items_ */
#endif

#ifndef FIRST_PINNED
#define FIRST_PINNED 1
#endif

#ifdef BROKEN_TIGHTER_BOUND
#define BOUND (CAPACITY + (PRODUCERS - 1) * SETTLE - 1)
#else
#define BOUND (CAPACITY + (PRODUCERS - 1) * SETTLE)
#endif

short settled[PARTITIONS];     /* Gate::settled_ */
byte pending[PARTITIONS];
byte reserved[PARTITIONS];     /* in `settled`, and not yet pending */
bool is_closed;                /* Core::attention */

byte waiters;                  /* RoomBell::waiters_ */
bool is_latest[PRODUCERS];     /* whether Waiter::epoch_ is RoomBell::epoch_ */
bool is_asleep[PRODUCERS];     /* in the kernel */
byte running = PRODUCERS;

inline ring_room() {
  if
  :: waiters == 0  /* [R2] */
  :: else ->
#ifndef BROKEN_WAKE_WITHOUT_EPOCH
    d_step {  /* epoch_ += 1 */
      do
      :: sleeper < PRODUCERS -> is_latest[sleeper] = false; sleeper++
      :: sleeper == PRODUCERS -> break
      od;
      sleeper = 0
    };
#endif
    d_step {  /* futex_wake */
      do
      :: sleeper < PRODUCERS && is_asleep[sleeper] ->
        is_asleep[sleeper] = false;
#ifdef BROKEN_WAKES_ONE
        break
#else
        sleeper++
#endif
      :: sleeper < PRODUCERS && !is_asleep[sleeper] -> sleeper++
      :: sleeper == PRODUCERS -> break
      od;
      sleeper = 0
    }
  fi
}

/* Gate::settle(): allowed = items that may go in before the next look. */
inline settle() {
  d_step {
    settled[home] = settled[home] + debt[home];
    debt[home] = 0;
    allowed[home] = (CAPACITY - settled[home] < SETTLE -> CAPACITY - settled[home] : SETTLE);
#ifdef BROKEN_ALLOWANCE_IGNORES_ROOM
    allowed[home] = (CAPACITY > settled[home] -> SETTLE : 0);
#endif
    allowed[home] = (allowed[home] < 0 -> 0 : allowed[home]);
    assert(allowed[home] > 0 || pending[home] + reserved[home] >= CAPACITY)
  }
}

/* One item: insert_some, or the fast path. */
inline insert_one() {
  d_step {
    allowed[home]--;
    debt[home]++;
    pending[home]++;
    left--;
    assert(pending[home] + reserved[home] <= BOUND)
  }
}

/* Several: insert_some. `used` of those granted go in, or none. */
inline insert_several() {
  d_step {  /* Gate::reserve */
    settled[home] = settled[home] + debt[home];
    debt[home] = 0;
    allowed[home] = 0
  };
  if
  :: d_step {
      granted = (CAPACITY - settled[home] < left -> CAPACITY - settled[home] : left);
      granted = (granted < 0 -> 0 : granted);
      settled[home] = settled[home] + granted;
      reserved[home] = reserved[home] + granted;
      assert(pending[home] + reserved[home] <= BOUND)
    }
  :: d_step {  /* Gate::admits_batch, for all but one; then some may follow unasked */
      left > 1 && CAPACITY - settled[home] >= left - 1 ->
      granted = left - 1;
      settled[home] = settled[home] + granted;
      reserved[home] = reserved[home] + granted;
      allowed[home] = (CAPACITY - settled[home] < SETTLE -> CAPACITY - settled[home] : SETTLE);
#ifdef BROKEN_BATCH_ALLOWANCE_IGNORES_ROOM
      allowed[home] = SETTLE;
#endif
      assert(pending[home] + reserved[home] <= BOUND)
    }
  fi;
  if
  :: granted == 0
  :: granted > 0 ->
    if
    :: d_step { reserved[home] = reserved[home] - granted; pending[home] = pending[home] + granted; left = left - granted }
    :: true ->  /* the items throw, or the queue has no block or no memory for them */
#ifdef BROKEN_UNUSED_ROOM_IS_KEPT
      d_step { reserved[home] = reserved[home] - granted; left = left - granted };
#else
      d_step {  /* Gate::finish_reserved, unreserve */
#ifdef BROKEN_UNRESERVE_LETS_THEM_IN
        allowed[home] = allowed[home] + granted;
#else
        allowed[home] = 0;
#endif
        settled[home] = settled[home] - granted;
        reserved[home] = reserved[home] - granted
      };
      if
      :: left = left - granted
      :: true  /* the slow path tries again */
      fi;
#ifndef BROKEN_NO_RING_FOR_UNUSED_ROOM
      ring_room()
#endif
#endif
    fi
  fi;
  granted = 0
}

inline look_for_room() {
  has_room = settled[home] < CAPACITY;  /* [B2] */
#if PARTITIONS == 2
  if
  :: !is_pinned && !has_room -> has_room = settled[1 - home] < CAPACITY
  :: else
  fi;
#endif
  if
  :: !has_room -> has_room = is_closed
  :: else
  fi
}

inline wait_for_room() {
  waiters++;  /* [B1] */
#ifndef BROKEN_EPOCH_READ_AFTER_LOOK
  is_latest[me] = true;
#endif
#ifdef BROKEN_NO_LOOK_AFTER_ANNOUNCING
  has_room = false;
#else
  look_for_room();
#endif
  do
  :: d_step { has_room -> has_room = false; is_latest[me] = false; waiters-- }; break
  :: !has_room ->
#ifdef BROKEN_EPOCH_READ_AFTER_LOOK
    is_latest[me] = true;
#endif
    d_step { is_asleep[me] = is_latest[me] };
    if
    :: !is_asleep[me]
    :: d_step { me == 0 -> is_asleep[me] = false; left = 0; is_latest[me] = false; waiters-- };
      break  /* its timeout: kTimedOut */
    fi;
    is_latest[me] = true;
    look_for_room()
  od
}

active [PRODUCERS] proctype Producer() {
  byte me = _pid;
  byte home = _pid % PARTITIONS;
  bool is_pinned = _pid >= FIRST_PINNED;
  byte left = ITEMS;
  byte debt[PARTITIONS];
  short allowed[PARTITIONS];
  short granted;
  bool has_room;
  byte tried;
  byte sleeper;

  do
  :: left == 0 || is_closed -> break
  :: left > 0 ->
    if
    :: allowed[home] > 0 -> insert_one(); tried = 0
    :: allowed[home] == 0 ->
      settle();
      if
      :: allowed[home] > 0
      :: allowed[home] > 0 && left > 1 -> insert_several()
      :: allowed[home] == 0 ->
#if PARTITIONS == 2
        if
        :: !is_pinned && tried == 0 -> tried = 1; home = 1 - home  /* round robin */
        :: else -> tried = 0; wait_for_room()
        fi
#else
        wait_for_room()
#endif
      fi
    fi
  od;
#ifndef BROKEN_DEBT_DIES_WITH_THREAD
  settled[home] = settled[home] + debt[home];  /* its thread ends: Gate::settle_up() */
#if PARTITIONS == 2
  settled[1 - home] = settled[1 - home] + debt[1 - home];
#endif
#endif
  running--
}

active [PARTITIONS] proctype Consumer() {
  byte home = _pid - PRODUCERS;
  byte taken;
  byte sleeper;

  do
#ifndef STUCK_HANDLERS
  :: pending[home] >= CAPACITY || (is_closed && pending[home] > 0) ->
#ifdef BROKEN_RING_BEFORE_RELEASE
    ring_room();
#endif
    d_step {  /* [R1] */
      taken = (pending[home] < CAPACITY -> pending[home] : CAPACITY);
      pending[home] = pending[home] - taken;
      settled[home] = settled[home] - taken;
      taken = 0
    };
#ifndef BROKEN_RING_BEFORE_RELEASE
    ring_room()
#endif
  :: running == 0 && pending[home] < CAPACITY && (!is_closed || pending[home] == 0) -> break
#else
  :: running == 0 -> break
#endif
  od;
  /* All debts are settled: what is taken is what is pending. */
  assert(settled[home] == pending[home])
}

active proctype Closer() {
  byte sleeper;

#ifndef STUCK_HANDLERS
  if
  :: goto stays_open
  :: true
  fi;
#endif
#ifdef BROKEN_RING_BEFORE_CLOSE
  ring_room();
  is_closed = true;
#else
  is_closed = true;
  ring_room();
#endif
stays_open:
  skip
}
