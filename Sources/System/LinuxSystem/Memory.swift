import CLinux

/// What this process keeps of the machine's memory.
public enum Memory {
    /// Has all threads share one heap. By default, glibc has up to eight heaps for each processor, and what one has freed, no
    /// other can use.
    ///
    /// Must be called before anything else has started threads.
    public static func useOneHeap() { outbox_limit_arenas(1) }

    /// Returns free pages of the heap to the kernel.
    public static func trimHeap() { outbox_trim_heap() }
}
