package import FetchEngine

/// The place of downloads until they are complete: on this node's disk, a directory for each job.
///
/// Partial files outlive the process, so an attempt continues where a crash has ended the one before.
package protocol DownloadArea: Sendable {
    /// The place of a job, with the partial file of an earlier attempt; without it while that attempt still writes.
    ///
    /// - Parameter isWanted: Whether to wait on where that is needed; asked again and again.
    /// - Throws: Also when the place is not wanted any more while it is waited for.
    func open(_ job: Job.ID, while isWanted: @Sendable () -> Bool) async throws(StoreError) -> DownloadPlace

    /// Makes the partial file of a download survive a loss of power, and notes how to continue it.
    func checkpoint(_ data: ResumeData, of job: Job.ID) async throws(StoreError)

    /// Puts the partial file of an earlier download into a job's place, and returns the data to continue it there.
    func restore(_ data: ResumeData, from content: any BlobReader, for job: Job.ID) async throws(StoreError)
        -> ResumeData

    /// Opens a file that grows in a job's place, to be read meanwhile.
    func openGrowing(fileAt path: String) async throws(StoreError) -> any GrowingBody

    /// Removes the place of a job and all in it.
    func remove(_ job: Job.ID) async throws(StoreError)

    /// The jobs that have a place here.
    func jobs() async throws(StoreError) -> [Job.ID]
}

/// Where the download of one job grows.
package struct DownloadPlace: Sendable {
    package let directory: String
    /// The resume data of an earlier attempt, if it can be continued.
    package let resumeData: ResumeData?
    /// Keeps the place while this object exists.
    package let lock: (any Sendable)?

    package init(directory: String, resumeData: ResumeData?, lock: (any Sendable)? = nil) {
        self.directory = directory
        self.resumeData = resumeData
        self.lock = lock
    }
}
