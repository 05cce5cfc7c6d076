#define _GNU_SOURCE
// What libcurl is told of the streams of HTTP/2, told to us as well.
//
// libcurl 7.88 takes a body without a length for a whole one when its connection ends by a fault of the protocol, and
// has no option that tells whether the stream was ended. Its library for HTTP/2 is told by libcurl whom to call: these
// two functions have the names of the library's, so the dynamic linker takes them for libcurl's calls, and put us
// before libcurl (docs/adr/0007-ends-of-streams.md).

#include "CCurl.h"
#include <dlfcn.h>
#include <nghttp2/nghttp2.h>

static ccurl_stream_function watcher;
static nghttp2_on_frame_recv_callback frame_received;
static nghttp2_on_stream_close_callback stream_closed;

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

// libcurl sets the same two for every connection, and may do so on several threads at once.
NGHTTP2_EXTERN void nghttp2_session_callbacks_set_on_frame_recv_callback(
    nghttp2_session_callbacks *callbacks, nghttp2_on_frame_recv_callback function) {
    void (*set)(nghttp2_session_callbacks *, nghttp2_on_frame_recv_callback) =
        (void (*)(nghttp2_session_callbacks *, nghttp2_on_frame_recv_callback))dlsym(RTLD_NEXT, __func__);
    __atomic_store_n(&frame_received, function, __ATOMIC_RELAXED);
    set(callbacks, tell_frame);
}

NGHTTP2_EXTERN void nghttp2_session_callbacks_set_on_stream_close_callback(
    nghttp2_session_callbacks *callbacks, nghttp2_on_stream_close_callback function) {
    void (*set)(nghttp2_session_callbacks *, nghttp2_on_stream_close_callback) =
        (void (*)(nghttp2_session_callbacks *, nghttp2_on_stream_close_callback))dlsym(RTLD_NEXT, __func__);
    __atomic_store_n(&stream_closed, function, __ATOMIC_RELAXED);
    set(callbacks, tell_close);
}
