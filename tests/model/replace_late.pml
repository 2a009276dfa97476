/*
Replace against a late result: a partition has one consumer at every moment, a batch that a stuck
consumer keeps is waited for, and nobody waits for ever.

Stands for
  engine/overdue_watch.*       HandlerCall: begin, end, report_overdue, retire
  engine/consumer_threads.cpp  BufferCore: replace_consumer, run_spare, end_abandoned
  engine/consumer.cpp          Consumer: run, step, gather, deliver, retire
  engine/flush_requests.cpp    FlushRequests: enter, wait, complete, hold, release, publish
  engine/flusher.cpp           Flusher: step, call, and that a retired call is not tried again

Consumer 0 may be stuck: its handler returns at any moment, as late as it likes, and may ask for a
second attempt. It is found overdue at any moment, once; then consumer 1 gets ready and takes over,
unless the call has returned by then. Items are numbered; a batch is all that is pending, in one
pass (flush_pass.pml has the other ways); what it moves out is one step under the turn.
Left out: a consumer that is replaced after it has replaced another; halves, which a retired
consumer delivers like one long call; threads that do not start.

An error is a failed assertion, or a sync_flush or a consumer that waits for ever.

check holds  safety
check breaks safety BROKEN_RETIRE_IN_TWO_STEPS -> assertion violated
check breaks safety BROKEN_RETIRES_WHAT_IS_NOT_OVERDUE -> assertion violated
check breaks safety BROKEN_TAKES_OVER_ANYWAY -> assertion violated
check breaks safety BROKEN_NO_HOLD -> assertion violated
check breaks safety BROKEN_HOLD_AFTER_RETIRE -> invalid end state
check breaks safety BROKEN_NO_RELEASE -> invalid end state
check breaks safety BROKEN_RETIRED_GOES_ON -> assertion violated
*/

#define ITEMS 3
#define ATTEMPTS 2
#define kNothing 255

byte inserted;
byte removed;
byte first[2];               /* of the batch in a consumer's hands; 0: none */
bool is_consuming[2];        /* uses the partition: doorbell, turn, counts */

byte asked;                  /* FlushRequests */
byte completed;
byte done;
byte held = kNothing;

bool is_running;             /* HandlerCall of consumer 0 */
bool is_reported;
bool is_retired;
byte attempt;                /* of the call that runs; only to check whose call is retired */
byte reported_attempt;

bool is_spare_wanted;        /* the watch has started consumer 1 */

active proctype Producer() {
  do
  :: inserted < ITEMS -> inserted++
  :: true -> break
  od
}

/* FlushRequests::publish */
inline publish() {
  done = (completed < held -> (completed > done -> completed : done) : (held > done -> held : done))
}

inline complete(number) {
  d_step {
    completed = (number > completed -> number : completed);
    publish();
    number = 0
  }
}

/* Until there is something to do, and the next batch is in hand. */
inline gather(me) {
  do
  :: true ->
    d_step {
      assert(!is_consuming[1 - me]);
      is_consuming[me] = true
    };
    covered = asked;          /* the pass, or step() before it counts */
    d_step {
      if
      :: inserted > removed -> first[me] = removed + 1; removed = inserted
      :: else
      fi
    };
    is_consuming[me] = false;
    if
    :: first[me] > 0 -> break
    :: else -> complete(covered)
    fi;
    if  /* asleep */
    :: me == 0 -> end_0: inserted > removed || asked > completed
    :: me == 1 -> end_1: inserted > removed || asked > completed
    fi
  od
}

active proctype Stuck() {
  byte covered;
  bool again;

  do
  :: true ->
    gather(0);
    attempt = 0;
    do
    :: true ->
      d_step { is_running = true; is_reported = false; attempt++ };
      if  /* the handler returns */
      :: again = false
      :: attempt < ATTEMPTS -> again = true
      fi;
      is_running = false;     /* HandlerCall::end */
      if
      :: again && !is_retired
      :: else -> break
      fi
    od;
    again = false;
    first[0] = 0;             /* the result is in the ledger */
    if
    :: is_retired ->
#ifndef BROKEN_NO_RELEASE
      d_step { held = kNothing; publish() };
#endif
      complete(covered);
#ifdef BROKEN_RETIRED_GOES_ON
      skip
#else
      break
#endif
    :: else -> complete(covered)
    fi
  od
}

active proctype Watch() {
end_nothing_overdue:
  atomic { is_running && !is_reported -> is_reported = true; reported_attempt = attempt };
  is_spare_wanted = true
}

/* HandlerCall::retire, under the call's mutex */
inline retire() {
#if defined(BROKEN_RETIRE_IN_TWO_STEPS)
  has_taken_over = is_running && is_reported;
  if
  :: has_taken_over -> d_step { held = done; is_retired = true }
  :: else
  fi
#elif defined(BROKEN_HOLD_AFTER_RETIRE)
  d_step {
    has_taken_over = is_running && is_reported;
    is_retired = has_taken_over
  };
  if
  :: has_taken_over -> d_step { held = done }
  :: else
  fi
#else
  d_step {
#ifdef BROKEN_RETIRES_WHAT_IS_NOT_OVERDUE
    has_taken_over = is_running;
#else
    has_taken_over = is_running && is_reported;
#endif
    assert(!has_taken_over || attempt == reported_attempt);
    is_retired = has_taken_over;
#ifndef BROKEN_NO_HOLD
    held = (has_taken_over -> done : held)
#endif
  }
#endif
}

active proctype Spare() {
  byte covered;
  bool has_taken_over;

end_unwanted:
  is_spare_wanted;            /* and ready: its handler is made */
  retire();
#ifdef BROKEN_TAKES_OVER_ANYWAY
  has_taken_over = true;
#endif
  do
  :: has_taken_over ->
    gather(1);
    first[1] = 0;             /* its handler returns */
    complete(covered)
  :: !has_taken_over -> break
  od
}

/* sync_flush */
active proctype Caller() {
  byte mine;
  byte number;

  d_step { mine = inserted; asked++; number = asked };
  done >= number;
  assert(removed >= mine && (first[0] == 0 || first[0] > mine) && (first[1] == 0 || first[1] > mine))
}
