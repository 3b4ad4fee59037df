// Tells the thread sanitizer of hand-overs between threads that happen inside Swift's libraries, which are not instrumented.
// Without it each contended Mutex, and each continuation resumed before it was awaited, looks like a race.
//
// Each function here stands before the library's own of the same name, which the dynamic linker finds second, and calls it.
// Only programs built by `deploy/test --sanitize=thread` have them (Package.swift).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define DEALLOCATE "swift_task_dealloc"

typedef SWIFT void Lock(uint32_t thread, SELF void *mutex);
typedef SWIFT bool TryLock(SELF void *mutex);
typedef SWIFT void Unlock(SELF void *mutex);
typedef SWIFT void Deallocate(void *memory);

static Lock *next_lock;
static TryLock *next_try_lock;
static Unlock *next_unlock;
static Deallocate *next_deallocate;

__attribute__((constructor)) static void find_next(void) {
    next_lock = (Lock *)dlsym(RTLD_NEXT, LOCK);
    next_try_lock = (TryLock *)dlsym(RTLD_NEXT, TRY_LOCK);
    next_unlock = (Unlock *)dlsym(RTLD_NEXT, UNLOCK);
    next_deallocate = (Deallocate *)dlsym(RTLD_NEXT, DEALLOCATE);
}

// A Mutex that is free is taken by code compiled into the caller, which the sanitizer sees; one that is held, by these.

SWIFT void bellhop_lock(uint32_t thread, SELF void *mutex) __asm__(LOCK);
SWIFT void bellhop_lock(uint32_t thread, SELF void *mutex) {
    next_lock(thread, mutex);
    __tsan_acquire(mutex);
}

SWIFT bool bellhop_try_lock(SELF void *mutex) __asm__(TRY_LOCK);
SWIFT bool bellhop_try_lock(SELF void *mutex) {
    bool is_taken = next_try_lock(mutex);
    if (is_taken) __tsan_acquire(mutex);
    return is_taken;
}

SWIFT void bellhop_unlock(SELF void *mutex) __asm__(UNLOCK);
SWIFT void bellhop_unlock(SELF void *mutex) {
    __tsan_release(mutex);
    next_unlock(mutex);
}

SWIFT void *swift_task_getCurrent(void);

// Who resumes a continuation releases its task. A task that was waiting acquires itself when it runs again; one that had
// not begun to wait does not. This is called first after every `await` of a function: a task frees what the function used.
SWIFT void swift_task_dealloc(void *memory) {
    void *task = swift_task_getCurrent();
    next_deallocate(memory);
    if (task) __tsan_acquire(task);
}
