#pragma once

namespace databuffer::support {

/// Does what print_thread_stacks would rather not do in a process that hangs. Call it once, early.
void prepare_thread_stacks();

/// Writes the stack of every thread of this process to `fd`: by gdb where it is installed and may
/// attach, else by asking each thread with a signal.
void print_thread_stacks(int fd);

}  // namespace databuffer::support
