#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Swift's own module of the C library leaves these out.
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <nghttp2/nghttp2.h>

// Constants under names and types that do not depend on how Swift imports the enumerations of one version or another.
static const uint32_t bellhop_epoll_in = EPOLLIN;
static const uint32_t bellhop_epoll_out = EPOLLOUT;
static const uint32_t bellhop_epoll_broken = EPOLLERR | EPOLLHUP;
static const int bellhop_epoll_close_on_exec = EPOLL_CLOEXEC;
static const int bellhop_eventfd_flags = EFD_NONBLOCK | EFD_CLOEXEC;

static const uint8_t bellhop_frame_headers = NGHTTP2_HEADERS;
static const uint8_t bellhop_frame_data = NGHTTP2_DATA;
static const uint8_t bellhop_flag_end_stream = NGHTTP2_FLAG_END_STREAM;
static const uint8_t bellhop_no_flags = NGHTTP2_FLAG_NONE;
static const uint8_t bellhop_no_field_flags = NGHTTP2_NV_FLAG_NONE;
static const uint32_t bellhop_data_end = NGHTTP2_DATA_FLAG_EOF;
static const uint32_t bellhop_no_error = NGHTTP2_NO_ERROR;
static const uint32_t bellhop_internal_error = NGHTTP2_INTERNAL_ERROR;
static const int bellhop_callback_failed = NGHTTP2_ERR_CALLBACK_FAILURE;

// What a session tells the client first.
static inline int bellhop_submit_server_settings(nghttp2_session *session, uint32_t streams, uint32_t header_bytes) {
    const nghttp2_settings_entry entries[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, header_bytes},
    };
    return nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, entries, sizeof(entries) / sizeof(entries[0]));
}

// The kind of request a HEADERS frame belongs to: 1 for one that opens a stream, 0 for anything else, trailers too.
static inline int bellhop_opens_request(const nghttp2_frame *frame) {
    return frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
}
