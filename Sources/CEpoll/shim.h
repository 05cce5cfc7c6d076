#pragma once
// Declarations that Glibc's Swift module leaves out.
#include <malloc.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// glibc declares it under _GNU_SOURCE only.
extern int pthread_setname_np(pthread_t thread, const char *name);
