// How the allocator of release builds works. Without threads of its own it gives memory back only while the thread that
// has freed it goes on to allocate: what a burst took would be held for good, and requests be refused for it.
const char *malloc_conf = "background_thread:true";
