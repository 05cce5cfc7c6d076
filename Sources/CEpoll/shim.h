#pragma once
// Declarations that Glibc's Swift module leaves out.
#include <malloc.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// glibc declares these under _GNU_SOURCE only.
#define SYNC_FILE_RANGE_WRITE 2
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int sync_file_range(int descriptor, __off64_t offset, __off64_t count, unsigned int flags);
