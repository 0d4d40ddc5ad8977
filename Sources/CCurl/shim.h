// Typed wrappers for the variadic functions of libcurl, which Swift cannot call.
#pragma once
#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

static inline CURLcode outbox_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode outbox_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

/// libcurl copies the string.
static inline CURLcode outbox_curl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

/// libcurl keeps the pointer: CURLOPT_*DATA, CURLOPT_ERRORBUFFER.
static inline CURLcode outbox_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

/// libcurl keeps the pointer, and does not free the list.
static inline CURLcode outbox_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode outbox_curl_set_read(CURL *easy, curl_read_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_READFUNCTION, callback);
}

static inline CURLcode outbox_curl_set_seek(CURL *easy, curl_seek_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, callback);
}

/// CURLOPT_WRITEFUNCTION or CURLOPT_HEADERFUNCTION.
static inline CURLcode outbox_curl_set_write(CURL *easy, CURLoption option, curl_write_callback callback) {
    return curl_easy_setopt(easy, option, callback);
}

static inline CURLMcode outbox_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/// 0 where libcurl does not know.
static inline long outbox_curl_long_info(CURL *easy, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

/// 0 where libcurl does not know.
static inline curl_off_t outbox_curl_offset_info(CURL *easy, CURLINFO info) {
    curl_off_t value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

/// NULL where libcurl does not know.
static inline const char *outbox_curl_string_info(CURL *easy, CURLINFO info) {
    char *value = NULL;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : NULL;
}

static inline int outbox_curl_apply_user_timeout(void *milliseconds, curl_socket_t descriptor, curlsocktype purpose) {
    unsigned int value = (unsigned int)(uintptr_t)milliseconds;
    (void)purpose;
    setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, sizeof value);
    return CURL_SOCKOPT_OK;
}

/// The kernel gives a connection up whose sent bytes are not acknowledged, or not accepted, for this long (man 7 tcp,
/// TCP_USER_TIMEOUT); reading and writing then fail with ETIMEDOUT.
static inline void outbox_curl_set_user_timeout(CURL *easy, unsigned int milliseconds) {
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, outbox_curl_apply_user_timeout);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, (void *)(uintptr_t)milliseconds);
}

/// man 2 prctl, PR_SET_NAME: names the calling thread, in at most 15 bytes.
static inline void outbox_curl_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

/// What CURLINFO_CERTINFO tells of the server's own certificate under a name; NULL where it tells nothing.
static inline const char *outbox_curl_certificate_field(CURL *easy, const char *name) {
    struct curl_certinfo *chain = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_CERTINFO, &chain) != CURLE_OK || !chain || chain->num_of_certs < 1) return NULL;
    size_t length = strlen(name);
    for (struct curl_slist *field = chain->certinfo[0]; field; field = field->next)
        if (strncmp(field->data, name, length) == 0 && field->data[length] == ':') return field->data + length + 1;
    return NULL;
}
