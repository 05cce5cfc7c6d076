import FetchEngine
import Glibc
import SystemPackage

/// Keeps the place of a download for one attempt.
///
/// A node that was away for longer than its lease may still be writing when another one has the job; over one data
/// directory both would write one file. The lock ends with the process that has it, however that ends.
final class PlaceLock: Sendable {
    private let descriptor: Int32
    private let budget: DescriptorBudget

    /// - Returns: nil when another attempt has the place, in this process or another one.
    /// - Throws: `tooManyOpenFiles` also when as many places are locked as downloads can go on.
    init?(of place: FilePath, _ budget: DescriptorBudget) throws {
        guard budget.takeLock() else { throw Errno.tooManyOpenFiles }
        // A file and not the directory, which network file systems do not lock.
        let descriptor = open(place.appending("lock").string, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let number = errno
            budget.giveBackLock()
            throw Errno(rawValue: number)
        }
        (self.descriptor, self.budget) = (descriptor, budget)
        // A file system that has no locks is one that nodes do not share.
        if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK { return nil }
    }

    deinit {
        close(descriptor)
        budget.giveBackLock()
    }
}
