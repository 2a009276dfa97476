/*
Park and ring: an item that completes the threshold never leaves the consumer asleep for ever.

Stands for
  engine/doorbell.hpp, .cpp   Doorbell: arm, count_down, ring, sleep_until, disarm, is_armed
  detail/inserter.hpp         Inserter::enter from [P3] on: publish, read `watch` [P4]
  engine/inserts.cpp          BufferCore::push: the same, with seq_cst, for several items at once
  engine/consumer.cpp         Consumer: step, rest, flush_batch, notice_first_item, park
  engine/partition.hpp        Partition::pending: `removed` first, then slot by slot
  engine/buffer_core.cpp      BufferCore::take (drop_oldest in inserts.cpp is the same here)

Memory is x86-TSO's for the words that are written by plain stores: a slot's count (a producer's
store waits in its store buffer, and its later loads pass it) and `watch_` when the consumer takes
it down. A read-modify-write or a seq_cst store empties the buffer of its thread; the heavy fence
empties those of the producers, one by one. As a count only grows, a producer's buffer is the
number of items it withholds. What is weaker than TSO (ARM) is not modelled.

Simplified, with nothing lost:
  - Arming numbers never come twice, so a number is the latest or an older one.
  - The time is left out: the timer of a sleep fires at any moment, or never. A nap, or a sleep
    that another ring() ends (flush, close, a blocked insert), is one whose timer fires at once.
  - A partial batch is flushed at any moment (deadline, flush, close), or never.
  - rest() and flush_batch() arm for the first item, as park() does, and look again; here park()
    does it for them, with a sleep that ends at once. The schedule is started whenever a look
    found items, so the threshold is 1 after an empty look, else LIMIT.
Left out: the queue itself (an item is its count), `rung_at_`, statistics.

An error is a consumer asleep for ever with `threshold` items pending: an invalid end state.

check holds  safety ITEMS=3
check holds  safety ITEMS=3 LIMIT=3
check holds  safety TAKER ITEMS=2
check holds  safety NO_MEMBARRIER ITEMS=3
check breaks safety BROKEN_NO_HEAVY_FENCE -> invalid end state
check breaks safety BROKEN_WATCH_READ_BEFORE_PUBLISH -> invalid end state
check breaks safety BROKEN_NO_RECOUNT -> invalid end state
check breaks safety BROKEN_MISSING_READ_AFTER_RECOUNT LIMIT=3 -> invalid end state
check breaks safety BROKEN_STALE_RINGER_ENDS_WATCH -> invalid end state
check breaks safety BROKEN_RING_WITHOUT_TOKEN -> invalid end state
check breaks safety BROKEN_USED_ARMING_IS_KEPT -> invalid end state
check breaks safety BROKEN_USED_ARMING_IS_KEPT TAKER ITEMS=2 -> invalid end state
check breaks safety BROKEN_ONLY_WATCH_TELLS_USED -> invalid end state
*/

#define PRODUCERS 2
#ifndef ITEMS
#define ITEMS 3  /* of both producers together */
#endif
#ifndef LIMIT
#define LIMIT 2  /* items of a full batch */
#endif

#ifdef TAKER     /* somebody calls take() */
#define OTHERS 1
#else
#define OTHERS 0
#endif

#define kAwake 0
#define kRung 1
#define kAsleep 2

#define kNone 0
#define kLatest 1
#define kOlder 2

byte left = ITEMS;           /* to be inserted */
byte inserted[PRODUCERS];    /* Slot::word / 2, as memory has it */
byte buffered[PRODUCERS];    /* ... and what the producer's store buffer adds */
byte removed;                /* ItemCounts::removed */
bool is_turn_taken;          /* Partition::turn */

byte watch = kNone;          /* Doorbell::watch_ */
bool is_disarm_buffered;     /* ... = 0, in the consumer's store buffer */
byte arming[PRODUCERS];      /* a producer's look at it in count_down() */
short missing;               /* Doorbell::missing_ */
byte parker = kAwake;        /* Doorbell::state_ */
bool is_in_futex;            /* the consumer sleeps in the kernel */

byte running = PRODUCERS + OTHERS;  /* processes that may still change something */

#define visible (inserted[0] + inserted[1] - removed)
#define is_over (running == 0 && buffered[0] + buffered[1] == 0)

inline drain(producer) {
  inserted[producer] = inserted[producer] + buffered[producer];
  buffered[producer] = 0
}

inline drain_disarm() {
  if
  :: is_disarm_buffered -> watch = kNone; is_disarm_buffered = false
  :: else
  fi
}

/* The memory system: a store leaves its buffer at any moment. */
active proctype StoreBuffers() {
end:
  do
  :: d_step { buffered[0] > 0 -> buffered[0]--; inserted[0]++ }
  :: d_step { buffered[1] > 0 -> buffered[1]--; inserted[1]++ }
  :: d_step { is_disarm_buffered -> drain_disarm() }
  od
}

inline ring() {
  d_step {
    was_asleep = parker == kAsleep;
#ifdef BROKEN_RING_WITHOUT_TOKEN
    parker = (was_asleep -> kRung : parker)
#else
    parker = kRung
#endif
  };
  if
  :: d_step { was_asleep -> was_asleep = false; is_in_futex = false }  /* futex_wake */
  :: !was_asleep
  fi
}

/* Doorbell::count_down(items) */
inline count_down() {
  arming[me] = watch;
  d_step {
    drain(me);
    completes = 0 < missing && missing <= items;
    missing = missing - items;
    items = 0;
    arming[me] = (completes -> arming[me] : kNone)
  };
  if
  :: !completes
  :: completes ->
#ifdef BROKEN_STALE_RINGER_ENDS_WATCH
    ring();
    d_step { watch = kNone; arming[me] = kNone; completes = false }
#else
    d_step {
      watch = (arming[me] == kLatest && watch == kLatest -> kNone : watch);
      arming[me] = kNone;
      completes = false
    };
    ring()
#endif
  fi
}

active [PRODUCERS] proctype Producer() {
  byte me = _pid - 1;
  byte items;
  bool is_watched;
  bool completes;
  bool was_asleep;

  do
  :: true ->
#ifdef BROKEN_WATCH_READ_BEFORE_PUBLISH
    is_watched = watch != kNone;
#endif
    if  /* [P3] */
    :: d_step { left > 0 -> left--; items = 1;
#ifdef NO_MEMBARRIER
                inserted[me]++
#else
                buffered[me]++
#endif
       }
    :: d_step { left >= 2 -> left = left - 2; items = 2; drain(me); inserted[me] = inserted[me] + 2 }
    :: left == 0 -> break
    fi;
#ifndef BROKEN_WATCH_READ_BEFORE_PUBLISH
    is_watched = watch != kNone;  /* [P4] */
#endif
    if
    :: is_watched -> is_watched = false; count_down()
    :: else -> items = 0
    fi
  od;
  running--
}

active [OTHERS] proctype Taker() {
  byte taken;

  if
  :: d_step { !is_turn_taken -> is_turn_taken = true; taken = visible };
    d_step { removed = removed + taken; taken = 0; is_turn_taken = false }
  :: true
  fi;
  running--
}

/* Partition::pending() */
inline count(result) {
  result = 0 - removed;
  result = result + inserted[0];
  result = result + inserted[1]
}

inline heavy_fence() {
#if defined(BROKEN_NO_HEAVY_FENCE) || defined(NO_MEMBARRIER)
  skip
#else
  d_step { drain(0) };
  d_step { drain(1) }
#endif
}

/* Doorbell::is_armed() */
inline look_at_arming() {
#ifdef BROKEN_USED_ARMING_IS_KEPT
  is_armed = true
#else
  is_armed = watch == kLatest;
#ifndef BROKEN_ONLY_WATCH_TELLS_USED
  is_armed = is_armed && missing > 0
#endif
#endif
}

/* Doorbell::arm(threshold): sets is_armed. */
inline arm() {
  is_armed = false;
  count(before);
  if
  :: before >= threshold
  :: else ->
    d_step { drain_disarm(); missing = threshold - before };
    d_step {
      watch = kLatest;  /* [A1] */
      arming[0] = (arming[0] == kLatest -> kOlder : arming[0]);
      arming[1] = (arming[1] == kLatest -> kOlder : arming[1])
    };
    heavy_fence();
#ifdef BROKEN_NO_RECOUNT
    is_armed = true;
#else
#ifdef BROKEN_MISSING_READ_AFTER_RECOUNT
    count(unseen);
    unseen = unseen - before - (threshold - before - missing);
#else
    before = threshold - missing;  /* and what was counted down since */
    count(unseen);                 /* [A2] */
    unseen = unseen - before;
#endif
    d_step { is_armed = missing > unseen; missing = missing - unseen };
    if
    :: is_armed -> look_at_arming()
    :: else
    fi;
#endif
    if
    :: is_armed
    :: else -> is_disarm_buffered = true
    fi
  fi;
  d_step { before = 0; unseen = 0 }
}

/* Consumer::disarm() */
inline disarm() {
  if
  :: is_armed -> is_armed = false; is_disarm_buffered = true
  :: else
  fi
}

/* Doorbell::sleep_until() */
inline sleep() {
  d_step { drain_disarm(); parker = (parker == kAwake -> kAsleep : parker) };
  do
  :: parker != kAsleep -> break
  :: true -> break  /* the timer fires */
  :: d_step { parker == kAsleep -> is_in_futex = true } ->
    if
    :: !is_in_futex
    :: is_over && visible < threshold -> goto asleep  /* with good reason */
    fi
  od;
  parker = kAwake
}

/* Consumer::flush_batch() */
inline flush() {
  d_step {
    !is_turn_taken -> drain_disarm();
    removed = removed + (visible < LIMIT -> visible : LIMIT);
    pending = 0
  }
}

/* Between two looks it is armed for 1 item or not at all: park() disarms for more. */
active proctype Consumer() {
  bool is_armed;
  byte threshold;
  short pending;
  short before;
  short unseen;

look:
  count(pending);
  if
  :: pending == 0 ->
    threshold = 1;
    if
    :: is_armed -> look_at_arming(); if :: is_armed :: else -> is_armed = true; disarm() fi
    :: else
    fi
  :: pending > 0 ->
    threshold = LIMIT;
    disarm();
    if
    :: true -> flush(); goto look
    :: pending < LIMIT
    fi
  fi;
  pending = 0;

  /* park() */
  if
  :: is_armed
  :: else -> arm(); if :: is_armed :: else -> goto look fi
  fi;
  sleep();
  if
  :: threshold > 1 -> disarm()
  :: else
  fi;
  goto look;

asleep:
  skip
}
