/*
Close against insert: every accepted item is flushed, and the consumer finishes.

Stands for
  detail/inserter.hpp    Inserter::enter: [P1] mark, [P2] read `attention`, [P3] publish
  engine/inserts.cpp     BufferCore::push: the same with seq_cst (NO_MEMBARRIER)
  engine/drain.*         Drain::add, first, has_producer_inside, inserted
  engine/closing.cpp     BufferCore::begin_close: [C1], heavy fence, is_closing, ring
  engine/consumer.cpp    Consumer::step, finish, and its look again in a moment (kRetrySoon)
  engine/asymmetric_fence.cpp

Memory is x86-TSO's for what producers write by plain stores: their stores wait in a buffer, in
order, while their loads pass it. Close's fetch_or, its fence and its ring empty its own. What is
weaker than TSO (ARM) is not modelled.

A producer is a thread with a new seat: it joins the list of producers in the middle of it all. The
joining store may wait in the buffer like the others (in the engine a mutex empties it earlier).
Nobody but close rings the consumer, and no deadline comes: it gets no help from elsewhere. When it
looks again in a moment, it looks again at any moment.
Left out: the queue itself (an item is its count), flushing by size, time and request.

check holds  safety
check holds  finishes
check holds  safety NO_MEMBARRIER
check breaks safety BROKEN_NO_HEAVY_FENCE -> assertion violated
check breaks safety BROKEN_FENCE_BEFORE_ATTENTION -> assertion violated
check breaks safety BROKEN_CLOSING_BEFORE_ATTENTION -> assertion violated
check breaks safety BROKEN_PENDING_BEFORE_MARKS -> assertion violated
check breaks safety BROKEN_MARKS_NOT_LOOKED_AT -> assertion violated
check breaks safety BROKEN_MARK_AFTER_LOOK -> assertion violated
check breaks safety BROKEN_RING_BEFORE_CLOSING -> invalid end state
check breaks finishes BROKEN_MARK_IS_LEFT -> acceptance cycle
*/

#define PRODUCERS 2
#ifndef ITEMS
#define ITEMS 2  /* of each producer, at most: close may refuse some */
#endif

#define kInside 1
#define kOneItem 2  /* The code has the mark in the highest bit instead, and counts by one. */
#define kJoin 255  /* in a store buffer: the store that puts the slot on the list */

byte word[PRODUCERS];        /* Slot::word, as memory has it */
bool is_listed[PRODUCERS];   /* reachable from Drain::first_, as memory has it */
chan buffer[PRODUCERS] = [3] of { byte };  /* their store buffers */

bool is_refusing;            /* Core::attention: kClosed */
bool is_closing;             /* Partition::is_closing */
bool is_rung;                /* the doorbell's token */
bool is_finished;            /* Consumer::is_finished_ */

byte accepted;
byte flushed;                /* = ItemCounts::removed here */

/* The oldest store in the buffer reaches memory. */
inline drain_one(producer) {
  buffer[producer] ? value;
  if
  :: value == kJoin -> is_listed[producer] = true
  :: else -> word[producer] = value
  fi;
  value = 0
}

inline drain(producer) {
  do
  :: nempty(buffer[producer]) -> drain_one(producer)
  :: empty(buffer[producer]) -> break
  od
}

/* The memory system, at any moment. */
active proctype StoreBuffers() {
  byte value;
end:
  do
  :: d_step { nempty(buffer[0]) -> drain_one(0) }
  :: d_step { nempty(buffer[1]) -> drain_one(1) }
  od
}

inline heavy_fence() {
#if defined(BROKEN_NO_HEAVY_FENCE) || defined(NO_MEMBARRIER)
  skip
#else
  d_step { drain(0); value = 0 };
  d_step { drain(1); value = 0 }
#endif
}

inline store(what) {
#ifdef NO_MEMBARRIER
  word[me] = what
#else
  buffer[me] ! what
#endif
}

active [PRODUCERS] proctype Producer() {
  byte me = _pid - 1;
  byte own_word;
  byte left = ITEMS;
  byte value;
  bool is_refused;

  /* Drain::add */
#ifdef NO_MEMBARRIER
  is_listed[me] = true;
#else
  buffer[me] ! kJoin;
#endif
  do
  :: left > 0 ->
#ifdef BROKEN_MARK_AFTER_LOOK
    is_refused = is_refusing;
    store(own_word + kInside);
#else
    store(own_word + kInside);  /* [P1] */
    is_refused = is_refusing;   /* [P2] */
#endif
    if
    :: is_refused ->
#ifndef BROKEN_MARK_IS_LEFT
      store(own_word);
#endif
      break
    :: !is_refused ->
      own_word = own_word + kOneItem;
      d_step { left--; accepted++; assert(!is_finished) };
      store(own_word)           /* [P3] */
    fi
  :: left == 0 -> break
  od
}

inline set_closing() {
#ifdef BROKEN_RING_BEFORE_CLOSING
  is_rung = true;
  is_closing = true
#else
  is_closing = true;
  is_rung = true
#endif
}

/* BufferCore::begin_close */
active proctype Closer() {
  byte value;

#ifdef BROKEN_CLOSING_BEFORE_ATTENTION
  set_closing();
#endif
#ifdef BROKEN_FENCE_BEFORE_ATTENTION
  heavy_fence();
  is_refusing = true;
#else
  is_refusing = true;           /* [C1] */
  heavy_fence();
#endif
#ifndef BROKEN_CLOSING_BEFORE_ATTENTION
  set_closing()
#endif
}

inline look_at_marks() {
#ifdef BROKEN_MARKS_NOT_LOOKED_AT
  skip
#else
  if
  :: is_listed[0] -> has_inside = word[0] & kInside
  :: else
  fi;
  if
  :: has_inside
  :: else ->
    if
    :: is_listed[1] -> has_inside = word[1] & kInside
    :: else
    fi
  fi
#endif
}

inline count_pending() {
  pending = 0 - flushed;
  if
  :: is_listed[0] -> pending = pending + word[0] / kOneItem
  :: else
  fi;
  if
  :: is_listed[1] -> pending = pending + word[1] / kOneItem
  :: else
  fi
}

/* Consumer::step, and sleep in between. */
active proctype Consumer() {
  bool closing;
  bool has_inside;
  short pending;

look:
  has_inside = false;
  closing = is_closing;
#ifdef BROKEN_PENDING_BEFORE_MARKS
  count_pending();
  if :: closing -> look_at_marks() :: else fi;
#else
  if :: closing -> look_at_marks() :: else fi;
  count_pending();
#endif
  if
  :: pending == 0 && closing && !has_inside -> goto finish
  :: pending == 0 && closing && has_inside -> goto look       /* kRetrySoon */
  :: pending > 0 && closing -> flushed = flushed + pending; pending = 0; goto look
  :: pending >= 0 && !closing -> pending = 0
  fi;
  is_rung -> is_rung = false;                                 /* sleep_until() */
  goto look;

finish:
  atomic { is_finished = true; assert(flushed == accepted) }
}

ltl finishes { <> is_finished }
