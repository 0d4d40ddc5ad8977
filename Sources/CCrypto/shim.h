// OpenSSL's MD5 with its state in the open: swift-crypto's can't be stored and taken up again.
#pragma once
// Deprecated because MD5 is broken as a signature, which is not what it is here for; `EVP_MD_CTX` hides the state.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/md5.h>

/// man 3 MD5_Init, MD5_Update, MD5_Final. They fail for null pointers only.
static inline void outbox_md5_init(MD5_CTX *state) { MD5_Init(state); }
static inline void outbox_md5_update(MD5_CTX *state, const void *bytes, size_t count) { MD5_Update(state, bytes, count); }
static inline void outbox_md5_final(unsigned char *digest, MD5_CTX *state) { MD5_Final(digest, state); }
