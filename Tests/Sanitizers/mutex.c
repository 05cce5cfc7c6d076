// ThreadSanitizer cannot see Synchronization.Mutex: taking a lock that another thread holds happens in Swift's own
// library, which is not instrumented. Loaded before it, these tell the sanitizer and do the same.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(LOCK);
SWIFT void unlock_slow(SELF) __asm__(UNLOCK);

SWIFT void lock_slow(uint32_t thread, SELF) {
    typedef SWIFT void function(uint32_t, SELF);
    ((function *)dlsym(RTLD_NEXT, LOCK))(thread, self);
    if (__tsan_acquire) __tsan_acquire(self);
}

SWIFT void unlock_slow(SELF) {
    typedef SWIFT void function(SELF);
    if (__tsan_release) __tsan_release(self);
    ((function *)dlsym(RTLD_NEXT, UNLOCK))(self);
}
