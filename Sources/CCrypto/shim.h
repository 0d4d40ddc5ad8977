// OpenSSL's MD5 and SHA-256 with their states in the open, so that a hash can be copied, stored and continued.
#pragma once
// Deprecated in favour of `EVP_MD_CTX`, which hides the state. MD5 is a key here, never a signature.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/md5.h>
#include <openssl/sha.h>

#include "md5pair.h"

/// man 3 CRYPTO_memcmp. Its header, <openssl/crypto.h>, brings structs of the C library that clash with those of Swift's
/// Glibc module.
int CRYPTO_memcmp(const void *left, const void *right, size_t count);

/// Adds whole blocks of 64 bytes to two MD5s, neither of which is within a block.
static inline void outbox_md5_pair_update(MD5_CTX *first, MD5_CTX *second, const void *bytes, size_t blocks) {
    uint32_t one[4] = {first->A, first->B, first->C, first->D};
    uint32_t two[4] = {second->A, second->B, second->C, second->D};
    outbox_md5_pair(one, two, (const uint8_t *)bytes, blocks);
    first->A = one[0], first->B = one[1], first->C = one[2], first->D = one[3];
    second->A = two[0], second->B = two[1], second->C = two[2], second->D = two[3];
    // The number of bits, in two words.
    MD5_CTX *const contexts[2] = {first, second};
    for (int i = 0; i < 2; i++) {
        const uint64_t bits = ((uint64_t)contexts[i]->Nh << 32 | contexts[i]->Nl) + (uint64_t)blocks * 512;
        contexts[i]->Nl = (MD5_LONG)bits, contexts[i]->Nh = (MD5_LONG)(bits >> 32);
    }
}
