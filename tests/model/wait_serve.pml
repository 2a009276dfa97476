/*
Wait and serve: no producer sleeps for ever while there is room for it or after close, the capacity
is passed by no more than what is promised, and no room leaks.

Stands for
  engine/gate.hpp           Gate: settle, reserve, admits_batch, finish_reserved, take_back,
                            settle_up, release, bar, unbar, grant
  engine/space_waiters.*    SpaceWaiters: join, wait, leave, release, serve, set_bars, close
  engine/inserts.cpp        BufferCore: find_room, take_room, insert_some
  engine/overflow.cpp       BufferCore: wait_for_room
  engine/buffer_core.hpp    BufferCore::remove
  engine/consumer.cpp       Consumer::gather, as far as it makes room
  engine/closing.cpp        BufferCore::begin_close: `attention`, then SpaceWaiters::close

All of it is seq_cst read-modify-writes and loads, or under the waiters' mutex, in the engine, so
interleaving is all there is.

Simplified: a consumer flushes a full batch at once (park_ring.pml shows that it is woken) and
nothing less, before close: so a waiting producer gets no help from deadlines. LIMIT = CAPACITY, the
largest that the options allow. With STUCK_HANDLERS only close can release anybody, with STUCK_LAST
the last partition's handler is stuck. With STAYS_OPEN nobody closes. Producer 0 waits
with a timeout that may end any wait, the others wait for ever. Turns of round robin are left out:
they end with an allowance or before.
A pinned producer (insert_keyed) uses one partition, another goes round robin. Where SETTLE is 1 a
look takes the place, as the engine does below a capacity of 128.
Left out: limits by weight (weight_demand.pml), and what else an insert may do when it is full.

check holds  safety
check holds  safety SETTLE=1 CAPACITY=2 ITEMS=2
check holds  safety STAYS_OPEN PRODUCERS=3 ITEMS=1 CAPACITY=1 SETTLE=1
check holds  safety STAYS_OPEN PARTITIONS=2 ITEMS=2 CAPACITY=1 SETTLE=1
check holds  safety STAYS_OPEN PARTITIONS=2 ITEMS=2 CAPACITY=1 SETTLE=1 FIRST_PINNED=0
check holds  safety STAYS_OPEN PARTITIONS=2 ITEMS=2 CAPACITY=1 SETTLE=1 FIRST_PINNED=2 STUCK_LAST
check holds  safety STUCK_HANDLERS
check breaks safety BROKEN_TIGHTER_BOUND -> assertion violated
check breaks safety BROKEN_ALLOWANCE_IGNORES_ROOM -> assertion violated
check breaks safety BROKEN_BATCH_ALLOWANCE_IGNORES_ROOM -> assertion violated
check breaks safety BROKEN_UNRESERVE_LETS_THEM_IN -> assertion violated
check breaks safety BROKEN_LOOK_TAKES_NO_PLACE SETTLE=1 CAPACITY=2 -> assertion violated
check breaks safety BROKEN_PLACE_IS_KEPT SETTLE=1 CAPACITY=2 -> assertion violated
check breaks safety BROKEN_LOOKS_BEFORE_BAR -> invalid end state
check breaks safety BROKEN_BAR_READ_BEFORE_RELEASE -> invalid end state
check breaks safety BROKEN_UNBARS_FOR_THE_FIRST -> invalid end state
check breaks safety BROKEN_SERVES_ONE -> invalid end state
check breaks safety BROKEN_LEAVES_THE_BAR -> assertion violated
check breaks safety BROKEN_TIMES_OUT_WITH_ROOM -> assertion violated
check breaks safety BROKEN_JOINS_AFTER_CLOSE STUCK_HANDLERS -> invalid end state
check breaks safety BROKEN_CLOSE_BEFORE_ATTENTION STUCK_HANDLERS -> invalid end state
check breaks safety BROKEN_ANY_WAITS_FOR_ONE STAYS_OPEN PARTITIONS=2 ITEMS=2 CAPACITY=1 SETTLE=1 FIRST_PINNED=2 STUCK_LAST -> invalid end state
check breaks safety BROKEN_UNUSED_ROOM_SERVES_NOBODY -> invalid end state
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
#define ITEMS 3     /* of each producer */
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

#if SETTLE == 1
#define BOUND CAPACITY
#elif defined(BROKEN_TIGHTER_BOUND)
#define BOUND (CAPACITY + (PRODUCERS - 1) * SETTLE - 1)
#else
#define BOUND (CAPACITY + (PRODUCERS - 1) * SETTLE)
#endif

#ifdef STUCK_LAST
#define IS_STUCK (home == PARTITIONS - 1)
#else
#define IS_STUCK false
#endif

#define BAR 100                /* Gate::kBarred */
#define NOBODY 255

short settled[PARTITIONS];     /* Gate::settled_ */
byte pending[PARTITIONS];
byte reserved[PARTITIONS];     /* in `settled`, and not yet pending */
bool is_closed;                /* Core::attention */

/* SpaceWaiters. */
bool mutex;
bool is_barred[PARTITIONS];
byte waiting;                  /* in line */
byte place[PRODUCERS];         /* in the order of waiting, from 1; 0: not in line */
byte handed[PRODUCERS];        /* Waiter::room_ */
byte handed_in[PRODUCERS];     /* Waiter::partition_index_ */
bool is_over[PRODUCERS];       /* Waiter::state_ */
byte running = PRODUCERS;

#define is_pinned_(who) (who >= FIRST_PINNED)
#ifdef BROKEN_ANY_WAITS_FOR_ONE
#define waits_for(who, where) (place[who] > 0 && who % PARTITIONS == where)
#else
#define waits_for(who, where) (place[who] > 0 && (!is_pinned_(who) || who % PARTITIONS == where))
#endif

inline lock() { atomic { !mutex -> mutex = true } }

/* Takes the producer out of the line. In a d_step. */
inline step_out(who) {
  other = 0;
  do
  :: other < PRODUCERS ->
    place[other] = (place[other] > place[who] -> place[other] - 1 : place[other]);
    other++
  :: other == PRODUCERS -> break
  od;
  place[who] = 0;
  waiting--;
  other = 0
}

inline set_bars() {
  at = 0;
  do
  :: at < PARTITIONS ->
    d_step {
      oldest = NOBODY;
      other = 0;
      do
      :: other < PRODUCERS && waits_for(other, at) -> oldest = other; other++
      :: other < PRODUCERS && !waits_for(other, at) -> other++
      :: other == PRODUCERS -> break
      od;
      other = 0;
      if
      :: oldest != NOBODY && !is_barred[at] -> is_barred[at] = true; settled[at] = settled[at] + BAR
      :: oldest == NOBODY && is_barred[at] -> is_barred[at] = false; settled[at] = settled[at] - BAR
      :: else
      fi;
      oldest = 0
    };
    at++
  :: at == PARTITIONS -> break
  od;
  at = 0
}

/* serve_line() of each partition that `from` to `upto` name; adds to `served`. */
inline serve(from, upto) {
  at = from;
  do
  :: at <= upto ->
    d_step {  /* oldest(), and Gate::grant */
      oldest = NOBODY;
      other = 0;
      do
      :: other < PRODUCERS && waits_for(other, at) ->
        if
        :: oldest == NOBODY -> oldest = other
        :: oldest != NOBODY && place[other] < place[oldest] -> oldest = other
        :: else
        fi;
        other++
      :: other < PRODUCERS && !waits_for(other, at) -> other++
      :: other == PRODUCERS -> break
      od;
      other = 0;
      if
      :: oldest != NOBODY && (settled[at] < BAR / 2 || settled[at] - BAR >= CAPACITY) -> oldest = NOBODY
      :: else
      fi;
      if
      :: oldest != NOBODY ->
        settled[at]++;
        reserved[at]++;
        handed[oldest] = 1;
        handed_in[oldest] = at;
        step_out(oldest);
        served = served | (1 << oldest)
      :: else
      fi
    };
    if
#ifndef BROKEN_SERVES_ONE
    :: oldest != NOBODY -> skip  /* the next of this line */
#ifdef BROKEN_UNBARS_FOR_THE_FIRST
      ; d_step {
        if
        :: is_barred[at] -> is_barred[at] = false; settled[at] = settled[at] - BAR
        :: else
        fi
      }
#endif
#endif
    :: else -> oldest = 0; at++
    fi
  :: else -> break
  od;
  at = 0;
#ifdef BROKEN_UNBARS_FOR_THE_FIRST
  if
  :: waiting == 0 -> set_bars()
  :: else
  fi
#else
  set_bars()
#endif
}

/* Served::wake(), when the mutex is free. */
inline wake() {
  d_step {
    other = 0;
    do
    :: other < PRODUCERS && (served & (1 << other)) != 0 -> is_over[other] = true; other++
    :: other < PRODUCERS && (served & (1 << other)) == 0 -> other++
    :: other == PRODUCERS -> break
    od;
    other = 0;
    served = 0
  }
}

/* SpaceWaiters::release, of items or of reserved room. */
inline release(where, from_pending, from_reserved) {
#ifdef BROKEN_BAR_READ_BEFORE_RELEASE
  is_awaited = settled[where] >= BAR / 2;
#endif
  d_step {  /* [R1] */
#ifndef BROKEN_BAR_READ_BEFORE_RELEASE
    is_awaited = settled[where] >= BAR / 2;
#endif
    pending[where] = pending[where] - from_pending;
    reserved[where] = reserved[where] - from_reserved;
    settled[where] = settled[where] - from_pending - from_reserved
  };
  if
  :: is_awaited ->
    is_awaited = false;
    lock();
    serve(where, where);  /* [R2] */
    mutex = false;
    wake()
  :: else
  fi
}

/* Gate::settle(): allowed = items that may go in before the next look. */
inline settle() {
#if SETTLE == 1
  d_step {  /* a look takes the place */
    if
    :: settled[home] < CAPACITY ->
#ifndef BROKEN_LOOK_TAKES_NO_PLACE
      settled[home]++;
#endif
      reserved[home]++;
      allowed[home] = 1
    :: else
    fi
  }
#else
  d_step {
    settled[home] = settled[home] + debt[home];
    debt[home] = 0;
    allowed[home] = (CAPACITY - settled[home] < SETTLE -> CAPACITY - settled[home] : SETTLE);
#ifdef BROKEN_ALLOWANCE_IGNORES_ROOM
    allowed[home] = (CAPACITY > settled[home] -> SETTLE : 0);
#endif
    allowed[home] = (allowed[home] < 0 -> 0 : allowed[home]);
    assert(allowed[home] > 0 || is_barred[home] || pending[home] + reserved[home] >= CAPACITY)
  }
#endif
}

/* One item: insert_some, or the fast path. */
inline insert_one() {
#if SETTLE == 1
  if
  :: d_step {
      allowed[home] = 0;
#ifdef BROKEN_LOOK_TAKES_NO_PLACE
      settled[home]++;  /* as a debt */
#endif
      reserved[home]--;
      pending[home]++;
      left--;
      assert(pending[home] + reserved[home] <= BOUND)
    }
  :: true ->  /* no memory for it: Gate::take_back */
    d_step { allowed[home] = 0; left-- };
#if defined(BROKEN_PLACE_IS_KEPT) || defined(BROKEN_LOOK_TAKES_NO_PLACE)
    reserved[home]--
#else
    release(home, 0, 1)
#endif
  fi
#else
  d_step {
    allowed[home]--;
    debt[home]++;
    pending[home]++;
    left--;
    assert(pending[home] + reserved[home] <= BOUND)
  }
#endif
}

/* The `granted` items' room is reserved. They go in, or none. */
inline use_room() {
  if
  :: d_step {
      reserved[home] = reserved[home] - granted;
      pending[home] = pending[home] + granted;
      left = left - granted
    }
  :: true ->  /* the items throw, or the queue has no block or no memory for them */
#ifdef BROKEN_UNUSED_ROOM_IS_KEPT
    d_step { reserved[home] = reserved[home] - granted; left = left - granted };
#else
    /* Gate::finish_reserved, end_allowance */
#ifdef BROKEN_UNRESERVE_LETS_THEM_IN
    allowed[home] = allowed[home] + granted;
#elif SETTLE != 1
    allowed[home] = 0;
#endif
    if
    :: left = left - granted
    :: true  /* the slow path tries again */
    fi;
#ifdef BROKEN_UNUSED_ROOM_SERVES_NOBODY
    d_step { reserved[home] = reserved[home] - granted; settled[home] = settled[home] - granted }
#else
    release(home, 0, granted)
#endif
#endif
  fi;
  granted = 0
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
#if SETTLE != 1
      allowed[home] = (CAPACITY - settled[home] < SETTLE -> CAPACITY - settled[home] : SETTLE);
#endif
#ifdef BROKEN_BATCH_ALLOWANCE_IGNORES_ROOM
      allowed[home] = SETTLE;
#endif
      assert(pending[home] + reserved[home] <= BOUND)
    }
  fi;
  if
  :: granted == 0
  :: granted > 0 -> use_room()
  fi
}

inline serve_own() {
  if
  :: is_pinned -> serve(home, home)
  :: else -> serve(0, PARTITIONS - 1)
  fi
}

inline wait_for_room() {
#ifdef BROKEN_JOINS_AFTER_CLOSE
  has_room = is_closed;
  lock();
#else
  lock();
  has_room = is_closed;
#endif
  if
  :: has_room -> is_over[me] = true
  :: else ->
    d_step { waiting++; place[me] = waiting };
#ifdef BROKEN_LOOKS_BEFORE_BAR
    d_step {  /* as if has_room() were asked first, and then the bar put up */
      has_room = settled[home] - (is_barred[home] -> BAR : 0) < CAPACITY
    };
    set_bars();
    if
    :: has_room -> serve_own()
    :: else
    fi
#else
    set_bars();  /* [W1] */
    serve_own()  /* [W2] */
#endif
  fi;
  has_room = false;
  mutex = false;
  wake();
  if
  :: is_over[me]
  :: me == 0 ->  /* its timeout: leave() */
    lock();
    if
    :: place[me] > 0 ->
      d_step { step_out(me) };
#ifndef BROKEN_LEAVES_THE_BAR
      serve(0, PARTITIONS - 1);
#endif
      /* the bar of who waits for nothing any more would refuse those who do not wait */
      assert(waiting > 0 || !is_barred[0]);
#if PARTITIONS > 1
      assert(waiting > 0 || !is_barred[1]);
#endif
      mutex = false;
      wake();
      left = 0  /* kTimedOut */
    :: else ->
      mutex = false;
#ifdef BROKEN_TIMES_OUT_WITH_ROOM
      handed[me] = 0;
      left = 0;
#endif
      is_over[me]  /* it has been served: in a moment it is told */
    fi
  fi;
  is_over[me] = false;
  if
  :: handed[me] > 0 ->
    d_step { home = handed_in[me]; handed_in[me] = 0; granted = handed[me]; handed[me] = 0 };
    use_room()
  :: else
  fi
}

active [PRODUCERS] proctype Producer() {
  byte me = _pid;
  byte home = _pid % PARTITIONS;
  bool is_pinned = is_pinned_(_pid);
  byte left = ITEMS;
  byte debt[PARTITIONS];
  short allowed[PARTITIONS];
  short granted;
  bool has_room;
  bool is_awaited;
  byte tried;
  byte at;
  byte other;
  byte oldest;
  byte served;

  do
  :: left == 0 || is_closed -> break
  :: left > 0 ->
    if
    :: allowed[home] > 0 -> insert_one(); tried = 0
    :: allowed[home] == 0 ->
#if SETTLE == 1
      if
      :: settle()
      :: left > 1 -> insert_several()
      fi;
#else
      settle();
#endif
      if
      :: allowed[home] > 0
#if SETTLE != 1
      :: allowed[home] > 0 && left > 1 -> insert_several()
#endif
      :: allowed[home] == 0 && left > 0 ->
#if PARTITIONS == 2
        if
        :: !is_pinned && tried == 0 -> tried = 1; home = 1 - home  /* round robin */
        :: else -> tried = 0; wait_for_room()
        fi
#else
        wait_for_room()
#endif
      :: left == 0
      fi
    fi
  od;
#if SETTLE == 1
  /* What the fast path took and could not use for close: BufferCore::take_back. */
  if
  :: allowed[home] > 0 ->
    allowed[home] = 0;
    release(home, 0, 1)
  :: else
  fi;
#endif
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
  bool is_awaited;
  byte at;
  byte other;
  byte oldest;
  byte served;

  do
#ifndef STUCK_HANDLERS
  :: !IS_STUCK && (pending[home] >= CAPACITY || (is_closed && pending[home] > 0)) ->
    taken = (pending[home] < CAPACITY -> pending[home] : CAPACITY);
    release(home, taken, 0);
    taken = 0
  :: running == 0 && (IS_STUCK || (pending[home] < CAPACITY && (!is_closed || pending[home] == 0))) ->
    break
#else
  :: running == 0 -> break
#endif
  od;
  /* All debts are settled: what is taken is what is pending. */
  assert(settled[home] == pending[home])
}

#ifndef STAYS_OPEN
active proctype Closer() {
  byte at;
  byte other;
  byte oldest;
  byte served;

#ifndef STUCK_HANDLERS
  if
  :: goto stays_open
  :: true
  fi;
#endif
#ifndef BROKEN_CLOSE_BEFORE_ATTENTION
  is_closed = true;
#endif
  lock();
  d_step {
    do
    :: at < PRODUCERS && place[at] > 0 -> served = served | (1 << at); place[at] = 0; waiting--; at++
    :: at < PRODUCERS && place[at] == 0 -> at++
    :: at == PRODUCERS -> break
    od;
    at = 0
  };
  set_bars();
  mutex = false;
  wake();
#ifdef BROKEN_CLOSE_BEFORE_ATTENTION
  is_closed = true;
#endif
stays_open:
  skip
}
#endif
