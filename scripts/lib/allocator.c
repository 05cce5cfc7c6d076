#include <stdbool.h>
#include <string.h>

// How the allocator of release builds works. Without threads of its own it gives memory back only while the thread that
// has freed it goes on to allocate: what a burst took would be held for good, and requests be refused for it.
const char *malloc_conf = "background_thread:true";

extern char **environ;
// Of Swift's runtime, which reads its own variables of the environment, all of them at once, when it needs the first.
bool swift_COWChecksEnabled(void);

// Lets the frames of asynchronous functions be blocks of the allocator, each by itself. Otherwise the runtime keeps the
// most that a task has ever had room for until it ends, and loads wait for minutes.
//
// The runtime sees the variable in a copy of the environment: it finds the arguments of the program beside the original,
// and programs that this one starts have no use for it. It comes first, so that whoever sets it otherwise is heeded.
__attribute__((constructor(101))) static void allocate_frames_one_by_one(void) {
    char **given = environ;
    size_t count = 0;
    while (given[count]) count++;
    char *seen[count + 2];
    seen[0] = "SWIFT_DEBUG_ENABLE_TASK_SLAB_ALLOCATOR=NO";
    memcpy(seen + 1, given, (count + 1) * sizeof *given);
    environ = seen;
    swift_COWChecksEnabled();
    environ = given;
}
