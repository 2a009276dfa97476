/*
Flush and passes: sync_flush returns only when everything inserted before it was handled, and always
returns, however constantly others insert.

Stands for
  engine/flush_requests.*   FlushRequests: enter, wait, asked, is_open, complete
  engine/drain.cpp          Drain: take, dequeue, begin_pass, skip_finished, stage_all, covered
  engine/consumer.cpp       Consumer: step, due_reason, flush_batch, gather, deliver
  engine/buffer_core.cpp    BufferCore: sync_flush, is_idle
  engine/looking.cpp        BufferCore: inspect (which is dump), take
  engine/flusher.cpp        Flusher::step: `in_flight`, to the end of the handler's call

Producers insert for ever, whenever fewer than ROOM of their items wait, or stop at any moment. So
all counts are relative to what has left, and an item is known only by whether a request must wait
for it: `owed` is so many of the first in a queue. What is under the turn is one step, but for the
beginning of a pass, which reads the slots one by one while others insert.

Store buffers do not matter: sync_flush's own items are published by its read-modify-write of
`asked_`, and those that happened before it elsewhere were in memory for it to know of.
pending() == 0 is one look, at the moment it reads `removed`: that is read first and neither count
ever falls, so an answer of 0 was true then.

Left out: failures and retries, stuck handlers (replace_late.pml), limits by weight, the time (a
deadline comes at any moment, or never), and a sync_flush that gives up waiting.

check holds  safety
check holds  safety REQUESTS=2 ROOM=1 LIMIT=1
check holds  returns
check holds  safety OTHER=dump
check holds  safety OTHER=take_all ROOM=1 LIMIT=2
check breaks safety BROKEN_PASS_NUMBER_AFTER_COUNTS -> assertion violated
check breaks safety BROKEN_COVERED_AT_PASS_BEGIN -> assertion violated
check breaks returns BROKEN_COVERED_ONLY_BETWEEN_BATCHES -> acceptance cycle
check breaks safety BROKEN_ASKED_READ_AFTER_PENDING -> assertion violated
check breaks safety BROKEN_COMPLETE_BEFORE_HANDLER -> assertion violated
check breaks safety BROKEN_REMOVED_BEFORE_IN_FLIGHT -> assertion violated
check breaks safety BROKEN_IDLE_READS_IN_FLIGHT_FIRST -> assertion violated
check breaks safety BROKEN_STAGED_IS_COVERED OTHER=dump -> assertion violated
check breaks returns BROKEN_NO_RING -> acceptance cycle
*/

#define PRODUCERS 2
#ifndef ROOM
#define ROOM 2     /* items of a producer that may wait */
#endif
#ifndef LIMIT
#define LIMIT 3    /* items of a full batch */
#endif
#ifndef REQUESTS
#define REQUESTS 1 /* threads that call sync_flush once */
#endif

#define kNoSlot PRODUCERS

byte queue[PRODUCERS];       /* Slot::word / 2 - Producer::drained */
byte staged;                 /* Drain::staged_ */
bool is_leaving;             /* items have left these, and are not yet in ItemCounts::removed */
bool is_in_hand;             /* ... or are the handler's, which has not returned */
bool is_in_flight;           /* ItemCounts::in_flight > 0 */
bool is_turn_taken;

byte pass_left[PRODUCERS];   /* Producer::pass_end - drained */
byte cursor = kNoSlot;       /* Drain::cursor_ */
byte pass_number;
byte covered;

byte asked;                  /* FlushRequests */
byte done;
bool is_rung;                /* the doorbell's token */

typedef Owed {               /* what a request must wait for: */
  byte queue[PRODUCERS];     /* the first so many of a queue, */
  byte staged;               /* of what is staged, */
  bool in_hand               /* and of what is in hand */
};
Owed owed[REQUESTS];
bool has_asked;
bool has_returned;

#define is_pending (queue[0] + queue[1] + staged > 0 || is_leaving)
#define is_full (queue[0] + queue[1] + staged >= LIMIT)

active [PRODUCERS] proctype Producer() {
  do
  :: d_step { queue[_pid] < ROOM -> queue[_pid]++ }
  :: true -> break
  od
}

/* Drain::skip_finished */
inline skip_finished() {
  do
  :: cursor < kNoSlot && pass_left[cursor] == 0 -> cursor++
  :: else -> break
  od
}

/* Drain::begin_pass; the pass is empty if cursor is kNoSlot then. */
inline begin_pass() {
#ifndef BROKEN_PASS_NUMBER_AFTER_COUNTS
  pass_number = asked;
#endif
  pass_left[0] = queue[0];
  pass_left[1] = queue[1];
#ifdef BROKEN_PASS_NUMBER_AFTER_COUNTS
  pass_number = asked;
#endif
#ifdef BROKEN_COVERED_AT_PASS_BEGIN
  covered = pass_number;
#endif
  d_step { cursor = 0; skip_finished(); skip }
}

/* One item leaves the cursor's queue. */
inline dequeue_one() {
  queue[cursor]--;
  pass_left[cursor]--
}

/* ... and comes into the consumer's hands. */
inline hold_one() {
  is_leaving = true;
  is_in_hand = true;
  room--
}

#define for_each_request for (r : 0 .. REQUESTS - 1)

/* The staged items leave first, up to `room` of them. */
inline take_staged() {
  d_step {
    do
    :: staged > 0 && room > 0 ->
      hold_one();
      staged--;
      for_each_request {
        if
        :: owed[r].staged > 0 -> owed[r].staged--; owed[r].in_hand = true
        :: else
        fi
      }
    :: else -> break
    od;
    r = 0
  }
}

/* What is left of the pass leaves, up to `room` items. */
inline take_pass() {
  d_step {
    do
    :: cursor < kNoSlot && room > 0 ->
      for_each_request {
        if
        :: owed[r].queue[cursor] > 0 -> owed[r].queue[cursor]--; owed[r].in_hand = true
        :: else
        fi
      }
      hold_one();
      dequeue_one();
      skip_finished()
    :: else -> break
    od;
    r = 0
  }
}

/* What is left of the pass is staged. `owed.staged`: up to the last one that is owed. */
inline stage_pass() {
  d_step {
    do
    :: cursor < kNoSlot ->
      staged++;
      for_each_request {
        if
        :: owed[r].queue[cursor] > 0 -> owed[r].queue[cursor]--; owed[r].staged = staged
        :: else
        fi
      }
      dequeue_one();
      skip_finished()
    :: else -> break
    od;
    r = 0
  }
}

/* Drain::take(LIMIT) */
inline take() {
  room = LIMIT;
  take_staged();
  do
  :: room == 0 -> break
  :: room > 0 && cursor != kNoSlot -> take_pass()
  :: room > 0 && cursor == kNoSlot ->
#ifndef BROKEN_COVERED_ONLY_BETWEEN_BATCHES
    covered = pass_number;
#endif
    begin_pass();
    if
    :: cursor == kNoSlot -> break
    :: else
    fi
  od;
  if
#ifdef BROKEN_STAGED_IS_COVERED
  :: cursor == kNoSlot -> covered = pass_number
#else
  :: cursor == kNoSlot && staged == 0 -> covered = pass_number
#endif
  :: else
  fi
}

/* Drain::stage_all */
inline stage_all() {
  pass = 0;
  do
  :: pass < 2 ->
    if
    :: cursor == kNoSlot -> begin_pass()
    :: else
    fi;
    pass++;
    stage_pass()
  :: else -> break
  od
}

inline acquire_turn() {
  d_step { !is_turn_taken -> is_turn_taken = true }
}

/* FlushRequests::complete */
inline complete(number) {
  done = (number > done -> number : done)
}

active proctype Consumer() {
  byte asked_before;
  byte covered_now;
  byte room;
  byte r;

look:
#ifdef BROKEN_ASKED_READ_AFTER_PENDING
  if
  :: is_pending -> goto some
  :: !is_pending
  fi;
  asked_before = asked;
#else
  asked_before = asked;
  if
  :: is_pending -> goto some
  :: !is_pending
  fi;
#endif
  d_step { complete(asked_before); asked_before = 0 };
end_idle:
  is_rung || is_pending;      /* the first item rings */
  is_rung = false;
  goto look;

some:
  asked_before = 0;
  if
  :: true                     /* size, request or deadline */
  :: !is_full && asked <= done ->
end_parked:
    is_rung || is_full;       /* the item that completes the batch rings */
    is_rung = false;
    goto look
  fi;
  acquire_turn();
  take();
  covered_now = covered;
#ifdef BROKEN_REMOVED_BEFORE_IN_FLIGHT
  is_leaving = false;
  is_in_flight = room < LIMIT;
#else
  is_in_flight = room < LIMIT;
  is_leaving = false;
#endif
  is_turn_taken = false;
  room = 0;
#ifdef BROKEN_COMPLETE_BEFORE_HANDLER
  complete(covered_now);
#endif
  d_step {                    /* the handler returns */
    is_in_hand = false;
    for_each_request { owed[r].in_hand = false }
    r = 0
  };
  is_in_flight = false;
#ifndef BROKEN_COMPLETE_BEFORE_HANDLER
  d_step { complete(covered_now); covered_now = 0 };
#endif
  goto look
}

/* BufferCore::sync_flush */
active [REQUESTS] proctype Caller() {
  byte r = _pid - PRODUCERS - 1;
  byte number;

  d_step {
    asked++;
    number = asked;
    owed[r].queue[0] = queue[0];
    owed[r].queue[1] = queue[1];
    owed[r].staged = staged;
    owed[r].in_hand = is_in_hand;
    has_asked = true
  };
#ifndef BROKEN_NO_RING
  is_rung = true;
#endif
  if
#ifdef BROKEN_IDLE_READS_IN_FLIGHT_FIRST
  :: !is_in_flight -> if :: !is_pending :: else -> done >= number fi
#else
  :: !is_pending -> if :: !is_in_flight :: else -> done >= number fi
#endif
  :: done >= number           /* at once, or after waiting */
  fi;
  atomic {
    assert(owed[r].queue[0] + owed[r].queue[1] + owed[r].staged == 0 && !owed[r].in_hand);
    has_returned = true
  }
}

#ifdef OTHER

#define dump 1
#define take_all 2

/* One dump(), or one take(). */
active proctype Other() {
  byte pass;
  byte room;
  byte r;

  acquire_turn();
  stage_all();
#if OTHER == take_all
  is_leaving = staged > 0;
  d_step {
    staged = 0;
    for_each_request { owed[r].staged = 0 }
    r = 0
  };
  if
  :: cursor == kNoSlot -> covered = pass_number
  :: else
  fi;
  is_leaving = false;
#endif
  is_turn_taken = false
}

#endif

ltl returns { [] (has_asked -> <> has_returned) }
