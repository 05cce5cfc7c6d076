#pragma once
#include <curl/curl.h>
#include <stdint.h>

// libcurl's setters and getters are variadic, which Swift cannot call: one typed form for each kind of argument.

static inline CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

// The schemes of authentication, whose macros are casts, which Swift does not import.
static const long ccurl_auth_ntlm = CURLAUTH_NTLM;

static inline CURLcode ccurl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_headers(CURL *handle, struct curl_slist *value) {
    return curl_easy_setopt(handle, CURLOPT_HTTPHEADER, value);
}

static inline CURLcode ccurl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_proxy_headers(CURL *handle, struct curl_slist *value) {
    return curl_easy_setopt(handle, CURLOPT_PROXYHEADER, value);
}

/// libcurl copies the bytes.
static inline CURLcode ccurl_set_blob(CURL *handle, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(handle, option, &blob);
}

static inline CURLcode ccurl_set_write_function(CURL *handle, curl_write_callback function) {
    return curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, function);
}

static inline CURLcode ccurl_set_header_function(CURL *handle, curl_write_callback function) {
    return curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, function);
}

static inline CURLcode ccurl_set_read_function(CURL *handle, curl_read_callback function) {
    return curl_easy_setopt(handle, CURLOPT_READFUNCTION, function);
}

static inline CURLcode ccurl_set_seek_function(CURL *handle, curl_seek_callback function) {
    return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, function);
}

static inline CURLcode ccurl_set_open_socket_function(CURL *handle, curl_opensocket_callback function) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, function);
}

static inline CURLcode ccurl_set_close_socket_function(CURL *handle, curl_closesocket_callback function) {
    return curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, function);
}

static inline CURLcode ccurl_set_prerequest_function(CURL *handle, curl_prereq_callback function) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, function);
}

static inline CURLcode ccurl_set_ssl_context_function(CURL *handle, curl_ssl_ctx_callback function) {
    return curl_easy_setopt(handle, CURLOPT_SSL_CTX_FUNCTION, function);
}

static inline CURLcode ccurl_set_debug_function(CURL *handle, curl_debug_callback function) {
    return curl_easy_setopt(handle, CURLOPT_DEBUGFUNCTION, function);
}

static inline CURLcode ccurl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode ccurl_get_offset(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode ccurl_get_pointer(CURL *handle, CURLINFO info, void **value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode ccurl_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode ccurl_multi_set_socket_function(CURLM *multi, curl_socket_callback function) {
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, function);
}

static inline CURLMcode ccurl_multi_set_timer_function(CURLM *multi, curl_multi_timer_callback function) {
    return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, function);
}

/// Looks at every transfer, whether its sockets are ready or not.
static inline CURLMcode ccurl_multi_drive_all(CURLM *multi, int *running) {
// Deprecated for being slow; nothing else does it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return curl_multi_socket_all(multi, running);
#pragma GCC diagnostic pop
}

static inline CURLSHcode ccurl_share_data(CURLSH *share, curl_lock_data data) {
    return curl_share_setopt(share, CURLSHOPT_SHARE, data);
}

/// Only user name and password, of the ways a SOCKS proxy may want to be convinced.
static inline CURLcode ccurl_set_plain_socks_authentication(CURL *handle) {
    return curl_easy_setopt(handle, CURLOPT_SOCKS5_AUTH, CURLAUTH_BASIC);
}

/// The result of a transfer that `curl_multi_info_read` reported; its union does not import.
static inline CURLcode ccurl_message_result(const CURLMsg *message) {
    return message->data.result;
}

/// The events of an HTTP/2 stream.
enum ccurl_stream_event {
    CCURL_STREAM_HAS_HEAD,
    CCURL_STREAM_HAS_END,
    CCURL_STREAM_IS_CLOSED,
    /// The server broke the protocol, and no frame of the connection is read any more.
    CCURL_STREAM_IS_ABANDONED
};

/// Told of a stream: the `CURLOPT_PRIVATE` of its handle, and the code that it was closed with.
typedef void (*ccurl_stream_function)(void *context, enum ccurl_stream_event event, uint32_t code);

/// Sets the function that gets a server's events on streams; call it before the first transfer.
void ccurl_watch_streams(ccurl_stream_function function);
