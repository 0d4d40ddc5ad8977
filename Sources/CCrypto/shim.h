// OpenSSL's MD5 and SHA-256 with their states in the open, so that a hash can be copied, stored and continued.
#pragma once
// Deprecated in favour of `EVP_MD_CTX`, which hides the state. MD5 is a key here, never a signature.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/md5.h>
#include <openssl/sha.h>

/// man 3 CRYPTO_memcmp. Its header, <openssl/crypto.h>, brings structs of the C library that clash with those of Swift's
/// Glibc module.
int CRYPTO_memcmp(const void *left, const void *right, size_t count);
