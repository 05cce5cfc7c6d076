import CEpoll

/// What glibc does with the pages of freed memory.
enum FreedPages {
    /// Has the process keep some of them, 16 MiB at most in each of glibc's arenas; once is enough.
    ///
    /// Bodies go through blocks of some hundred kilobytes. glibc would give the pages of every such block back to the
    /// system when it is freed, and fault them in anew for the next, which costs several times what receiving does.
    static let areKept: Bool = {
        mallopt(M_MMAP_THRESHOLD, 4 << 20) == 1 && mallopt(M_TRIM_THRESHOLD, 16 << 20) == 1
    }()
}
