import CEpoll

/// The use of freed pages by glibc: a setting of the whole process, so only a program changes it.
package enum FreedPages {
    /// Makes glibc keep some of them, at most 16 MiB in each of its arenas; returns whether it does.
    ///
    /// Bodies go through blocks of some hundred kilobytes. By default glibc returns the pages of every such block to
    /// the system when it is freed, and faults them in anew for the next, which costs several times what receiving
    /// does. Call it once, before the first load. Where the process has another allocator, as the release builds of
    /// `fetchd` have, it changes nothing: those keep such pages for a while by themselves.
    @discardableResult
    package static func keep() -> Bool {
        mallopt(M_MMAP_THRESHOLD, 4 << 20) == 1 && mallopt(M_TRIM_THRESHOLD, 16 << 20) == 1
    }
}
