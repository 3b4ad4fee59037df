#pragma once

#include <stdint.h>

// Swift's own module of the C library leaves these out.
#include <sys/epoll.h>
#include <sys/eventfd.h>

// Constants under names and types that do not depend on how Swift imports the enumerations of one version or another.
static const uint32_t bellhop_epoll_in = EPOLLIN;
static const uint32_t bellhop_epoll_out = EPOLLOUT;
static const int bellhop_epoll_close_on_exec = EPOLL_CLOEXEC;
static const int bellhop_eventfd_flags = EFD_NONBLOCK | EFD_CLOEXEC;
