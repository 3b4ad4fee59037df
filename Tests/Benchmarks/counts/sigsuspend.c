// Valgrind ends a program that calls sigsuspend with a mask in read-only memory, as libdispatch does. This copy of the
// mask is writable.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask) {
    sigset_t copy = *mask;
    return (int)syscall(SYS_rt_sigsuspend, &copy, 8);
}
