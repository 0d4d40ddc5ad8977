// OpenSSL's MD5 and SHA-256 with their states in the open: those of swift-crypto can't be stored and taken up again.
#pragma once
// Deprecated in favour of `EVP_MD_CTX`, which hides the state. MD5 is broken as a signature, and is none here.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/md5.h>
#include <openssl/sha.h>

/// man 3 MD5_Init, MD5_Update, MD5_Final. They fail for null pointers only.
static inline void outbox_md5_init(MD5_CTX *state) { MD5_Init(state); }
static inline void outbox_md5_update(MD5_CTX *state, const void *bytes, size_t count) { MD5_Update(state, bytes, count); }
static inline void outbox_md5_final(unsigned char *digest, MD5_CTX *state) { MD5_Final(digest, state); }

/// man 3 SHA256_Init, SHA256_Update, SHA256_Final. They fail for null pointers only.
static inline void outbox_sha256_init(SHA256_CTX *state) { SHA256_Init(state); }
static inline void outbox_sha256_update(SHA256_CTX *state, const void *bytes, size_t count) {
    SHA256_Update(state, bytes, count);
}
static inline void outbox_sha256_final(unsigned char *digest, SHA256_CTX *state) { SHA256_Final(digest, state); }
