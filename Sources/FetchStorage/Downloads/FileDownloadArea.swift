package import FetchEngine
package import FetchJobs
import FoundationEssentials
import NIOCore
import NIOFileSystem
import SystemPackage

/// Downloads that are not complete, as files of one directory.
///
/// The place of a job is a directory named after it, with the partial file and a checkpoint: the boot that it was
/// written in, and the resume data. After a crash of the process all written bytes are there, so within one boot the
/// file's own length counts; after a loss of power only the bytes that were synced with the checkpoint do.
package final class FileDownloadArea: DownloadArea {
    private static let checkpointName = "checkpoint"
    private static let largestCheckpoint: Int64 = 1 << 20

    private let directory: FilePath
    private let boot: String
    private let descriptors: DescriptorBudget

    /// - Parameters:
    ///   - directory: Made when it is not there, for this user only.
    ///   - descriptors: Has to have room for the locks of places.
    package init(directory: String, descriptors: DescriptorBudget = DescriptorBudget()) async throws(StoreError) {
        self.directory = FilePath(directory)
        self.descriptors = descriptors
        boot = (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)) ?? "unknown"
        try await FilePlace.wrap("The download directory cannot be made.") {
            try await FilePlace.make(FilePath(directory))
        }
    }

    package func open(
        _ job: Job.ID, while isWanted: @Sendable () -> Bool = { true }
    ) async throws(StoreError) -> DownloadPlace {
        let place = place(of: job)
        return try await FilePlace.wrap("A place for a download cannot be made.") {
            let lock = try await lock(place, while: isWanted)
            let stored = try? await ByteBuffer(
                contentsOf: place.appending(Self.checkpointName), maximumSizeAllowed: .bytes(Self.largestCheckpoint))
            guard let stored, let checkpoint = checkpoint(Array(stored.readableBytesView)) else {
                return DownloadPlace(directory: place.string, resumeData: nil, lock: lock)
            }
            return DownloadPlace(directory: place.string, resumeData: await usable(checkpoint, in: place), lock: lock)
        }
    }

    /// Takes a place; when an attempt that has lost the job still writes there, an empty one of the same name.
    private func lock(_ place: FilePath, while isWanted: () -> Bool) async throws -> PlaceLock? {
        try await FilePlace.make(place)
        if let lock = try await free(place, while: isWanted) { return lock }
        // The files of that attempt lose their names, and are freed when it ends.
        _ = try await FileSystem.shared.removeItem(at: place, strategy: .platformDefault, recursively: true)
        try await FilePlace.make(place)
        return try await free(place, while: isWanted)
    }

    /// Waits while there is no descriptor for the lock, which is no reason to fail (REL-11).
    private func free(_ place: FilePath, while isWanted: () -> Bool) async throws -> PlaceLock? {
        while true {
            do { return try PlaceLock(of: place, descriptors) } catch Errno.tooManyOpenFiles,
                Errno.tooManyOpenFilesInSystem
            {
                guard isWanted() else { throw CancellationError() }
                try await Task.sleep(for: DescriptorBudget.interval)
            }
        }
    }

    /// The resume data of a checkpoint, and whether the machine has not been started again since.
    private func checkpoint(_ bytes: [UInt8]) -> (data: ResumeData, isOfThisBoot: Bool)? {
        let boot = bytes.prefix { $0 != 0 }
        guard let data = try? ResumeData(bytes: Array(bytes.dropFirst(boot.count + 1))) else { return nil }
        return (data, boot.elementsEqual(self.boot.utf8))
    }

    /// The data with the length that the file can be trusted to have; nil when there is nothing to go on with.
    private func usable(_ checkpoint: (data: ResumeData, isOfThisBoot: Bool), in place: FilePath) async -> ResumeData? {
        var data = checkpoint.data
        guard FilePath(data.path).removingLastComponent() == place,
            let size = try? await FileSystem.shared.info(forFileAt: FilePath(data.path))?.size
        else { return nil }
        if checkpoint.isOfThisBoot { data.byteCount = min(size, data.totalCount ?? size) }
        return data.byteCount > 0 && data.byteCount <= size ? data : nil
    }

    package func checkpoint(_ data: ResumeData, of job: Job.ID) async throws(StoreError) {
        let place = place(of: job)
        try await FilePlace.wrap("A checkpoint cannot be written.") {
            try await FileSystem.shared.withFileHandle(
                forWritingAt: FilePath(data.path), options: .modifyFile(createIfNecessary: false)
            ) { try await $0.synchronize() }
            #if DEBUG
                CrashPoint.checkpointSynced.pass()
            #endif
            let new = place.appending("\(Self.checkpointName).new")
            try await FilePlace.write(Array(boot.utf8) + [0] + data.bytes, to: new)
            try FilePlace.rename(new, to: place.appending(Self.checkpointName))
            #if DEBUG
                CrashPoint.checkpointStored.pass()
            #endif
        }
    }

    package func restore(
        _ data: ResumeData,
        from content: any BlobReader,
        for job: Job.ID
    ) async throws(StoreError) -> ResumeData {
        let path = place(of: job).appending("restored.part")
        return try await FilePlace.wrap("The partial file cannot be put in place.") {
            try await FilePlace.write(content, to: path, replaceExisting: true)
            var data = data
            data.path = path.string
            return data
        }
    }

    package func openGrowing(fileAt path: String) async throws(StoreError) -> any GrowingBody {
        try await FileGrowingBody(path: FilePath(path))
    }

    package func remove(_ job: Job.ID) async throws(StoreError) {
        try await FilePlace.wrap("The place of a download cannot be removed.") {
            _ = try await FileSystem.shared.removeItem(
                at: place(of: job), strategy: .platformDefault, recursively: true)
        }
    }

    package func jobs() async throws(StoreError) -> [Job.ID] {
        try await FilePlace.names(in: directory).compactMap { Job.ID($0) }
    }

    private func place(of job: Job.ID) -> FilePath { directory.appending("\(job)") }
}
