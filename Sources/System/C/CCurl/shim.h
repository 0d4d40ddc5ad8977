// Typed wrappers for the variadic functions of libcurl, which Swift cannot call.
#pragma once
#include <arpa/inet.h>
#include <curl/curl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
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

/// `opened` is called with each socket before it connects. `closed` has to close it; libcurl keeps it with the
/// connection, which may outlive the transfer (man 3 CURLOPT_CLOSESOCKETFUNCTION).
static inline void outbox_curl_set_sockets(
    CURL *easy, curl_sockopt_callback opened, void *opened_context, curl_closesocket_callback closed,
    void *closed_context
) {
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, opened);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, opened_context);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, closed);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, closed_context);
}

/// The address of a peer as inet_ntop(3) writes it, in at least INET6_ADDRSTRLEN bytes. Returns 0; -1 where it has none.
static inline int outbox_peer_address(const struct curl_sockaddr *peer, char *text, unsigned int length) {
    const void *bytes = peer->family == AF_INET ? (const void *)&((const struct sockaddr_in *)&peer->addr)->sin_addr
                      : peer->family == AF_INET6 ? (const void *)&((const struct sockaddr_in6 *)&peer->addr)->sin6_addr
                                                 : NULL;
    return bytes && inet_ntop(peer->family, bytes, text, length) ? 0 : -1;
}

/// The socket libcurl would open itself, close-on-exec (man 3 CURLOPT_OPENSOCKETFUNCTION).
static inline curl_socket_t outbox_open_socket(const struct curl_sockaddr *peer) {
    return socket(peer->family, peer->socktype | SOCK_CLOEXEC, peer->protocol);
}

/// `opening` is called with each address before its socket is opened, `sending` before a request goes out, on a new
/// connection or a re-used one (man 3 CURLOPT_PREREQFUNCTION).
static inline void outbox_curl_set_peer_checks(
    CURL *easy, curl_opensocket_callback opening, curl_prereq_callback sending, void *context
) {
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, opening);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, sending);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, context);
}

/// The kernel gives a connection up whose sent bytes are not acknowledged, or not accepted, for this long (man 7 tcp,
/// TCP_USER_TIMEOUT); reading and writing then fail with ETIMEDOUT.
static inline void outbox_set_user_timeout(int socket, unsigned int milliseconds) {
    setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

/// Bytes handed to a TCP socket that the other end has not acknowledged (man 7 tcp, SIOCOUTQ); 0 where not known.
static inline int outbox_unacknowledged_bytes(int socket) {
    int count = 0;
    return ioctl(socket, SIOCOUTQ, &count) == 0 ? count : 0;
}

/// Whether a TCP connection has tried at least twice in vain to send, and doubles its pauses (man 7 tcp, TCP_INFO): after
/// an outage it may wait as long as the outage lasted before it tries again. Not where it waits for the other end to
/// open its window, which is no fault of the network.
static inline int outbox_is_backing_off(int socket) {
    // As linux/tcp.h has it, which can't be included beside netinet/tcp.h: the window is the last of these fields.
    const size_t window_offset = 228;
    unsigned char info[232];
    uint32_t window = 1;
    memset(info, 0, sizeof info);
    socklen_t size = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, info, &size) != 0) return 0;
    if (size >= sizeof info) memcpy(&window, info + window_offset, sizeof window);
    return info[offsetof(struct tcp_info, tcpi_backoff)] >= 2 && window > 0;
}

/// The address a socket is bound to, as inet_ntop(3) writes it, in at least INET6_ADDRSTRLEN bytes.
///
/// Returns its port; -1 where it has none.
static inline int outbox_local_address(int socket, char *text, unsigned int length) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (getsockname(socket, (struct sockaddr *)&address, &size) != 0) return -1;
    if (address.ss_family == AF_INET) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
        return inet_ntop(AF_INET, &v4->sin_addr, text, length) ? ntohs(v4->sin_port) : -1;
    }
    if (address.ss_family == AF_INET6) {
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;
        return inet_ntop(AF_INET6, &v6->sin6_addr, text, length) ? ntohs(v6->sin6_port) : -1;
    }
    return -1;
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
