import FetchJobs

/// Warnings about a job that was stored nevertheless (R5).
struct Warnings: Sendable {
    /// The stable name of a warning; `openapi.yaml` lists the same ones.
    enum Code: String, CaseIterable {
        case noLiveWorker

        var message: String {
            switch self {
            case .noLiveWorker: "No worker is known to live: the job waits until one does."
            }
        }
    }

    let readiness: any Readiness

    /// The warnings for jobs being stored now.
    private var current: [Code] { readiness.hasLiveWorker ? [] : [.noLiveWorker] }

    /// Writes the member `warnings`, when there are any.
    func write(_ writer: inout JSONWriter) {
        let codes = current
        guard !codes.isEmpty else { return }
        writer.member(
            "warnings",
            array: { writer in
                for code in codes {
                    writer.object { writer in
                        writer.member("code", code.rawValue)
                        writer.member("message", code.message)
                    }
                }
            })
    }
}
