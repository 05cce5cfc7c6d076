#define _GNU_SOURCE
// Passes the events of HTTP/2 streams that libcurl gets on to us as well.
//
// libcurl 7.88 takes a body without a length for a whole one when its connection ends by a fault of the protocol, and
// has no option that tells whether the stream was ended. It also waits on for streams of a connection that its library
// for HTTP/2 has given up. libcurl gives that library its callbacks: these functions have the names of the library's,
// so the dynamic linker takes them for libcurl's calls, and put us before libcurl (docs/adr/0007-ends-of-streams.md).

#include "CCurl.h"
#include <dlfcn.h>
#include <nghttp2/nghttp2.h>

static ccurl_stream_function watcher;
static nghttp2_on_frame_recv_callback frame_received;
static nghttp2_on_stream_close_callback stream_closed;
static nghttp2_on_frame_send_callback frame_sent;

void ccurl_watch_streams(ccurl_stream_function function) { watcher = function; }

static void tell(nghttp2_session *session, int32_t stream, enum ccurl_stream_event event, uint32_t code) {
    CURL *handle = nghttp2_session_get_stream_user_data(session, stream);
    void *context = NULL;
    if (watcher && handle && curl_easy_getinfo(handle, CURLINFO_PRIVATE, &context) == CURLE_OK && context)
        watcher(context, event, code);
}

static int tell_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    int32_t stream = frame->hd.stream_id;
    int is_head = frame->hd.type == NGHTTP2_HEADERS;
    if (is_head) tell(session, stream, CCURL_STREAM_HAS_HEAD, 0);
    if ((is_head || frame->hd.type == NGHTTP2_DATA) && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
        tell(session, stream, CCURL_STREAM_HAS_END, 0);
    return __atomic_load_n(&frame_received, __ATOMIC_RELAXED)(session, frame, user);
}

static int tell_close(nghttp2_session *session, int32_t stream, uint32_t code, void *user) {
    tell(session, stream, CCURL_STREAM_IS_CLOSED, code);
    return __atomic_load_n(&stream_closed, __ATOMIC_RELAXED)(session, stream, code, user);
}

// A GOAWAY of ours that names a fault of the server is the last that is sent, and nothing is read after it.
static int tell_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR) {
        uint32_t next = nghttp2_session_get_next_stream_id(session);
        for (uint32_t stream = 1; stream < next; stream += 2)
            tell(session, (int32_t)stream, CCURL_STREAM_IS_ABANDONED, frame->goaway.error_code);
    }
    nghttp2_on_frame_send_callback function = __atomic_load_n(&frame_sent, __ATOMIC_RELAXED);
    return function ? function(session, frame, user) : 0;
}

static void watch_sent(nghttp2_session_callbacks *callbacks) {
    void (*set)(nghttp2_session_callbacks *, nghttp2_on_frame_send_callback) =
        (void (*)(nghttp2_session_callbacks *, nghttp2_on_frame_send_callback))dlsym(
            RTLD_NEXT, "nghttp2_session_callbacks_set_on_frame_send_callback");
    set(callbacks, tell_sent);
}

// libcurl sets the same for every connection, and may do so on several threads at once; the last not in every version.
NGHTTP2_EXTERN void nghttp2_session_callbacks_set_on_frame_recv_callback(
    nghttp2_session_callbacks *callbacks, nghttp2_on_frame_recv_callback function) {
    void (*set)(nghttp2_session_callbacks *, nghttp2_on_frame_recv_callback) =
        (void (*)(nghttp2_session_callbacks *, nghttp2_on_frame_recv_callback))dlsym(RTLD_NEXT, __func__);
    __atomic_store_n(&frame_received, function, __ATOMIC_RELAXED);
    set(callbacks, tell_frame);
    watch_sent(callbacks);
}

NGHTTP2_EXTERN void nghttp2_session_callbacks_set_on_stream_close_callback(
    nghttp2_session_callbacks *callbacks, nghttp2_on_stream_close_callback function) {
    void (*set)(nghttp2_session_callbacks *, nghttp2_on_stream_close_callback) =
        (void (*)(nghttp2_session_callbacks *, nghttp2_on_stream_close_callback))dlsym(RTLD_NEXT, __func__);
    __atomic_store_n(&stream_closed, function, __ATOMIC_RELAXED);
    set(callbacks, tell_close);
}

NGHTTP2_EXTERN void nghttp2_session_callbacks_set_on_frame_send_callback(
    nghttp2_session_callbacks *callbacks, nghttp2_on_frame_send_callback function) {
    __atomic_store_n(&frame_sent, function, __ATOMIC_RELAXED);
    watch_sent(callbacks);
}
