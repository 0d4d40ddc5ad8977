import Glibc

func currentThread() -> UInt { UInt(pthread_self()) }
