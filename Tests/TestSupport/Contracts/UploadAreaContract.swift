package import FetchJobs
import Foundation

/// The contract of every form of ``UploadArea``.
package enum UploadAreaContract {
    private static let (mine, other) = (Tenant.ID(rawValue: 1), Tenant.ID(rawValue: 2))

    private static func create(in area: any UploadArea) async throws -> Upload {
        let upload = Upload(
            id: Upload.ID(in: area.volume), tenant: mine, contentType: "text/plain", expiresAt: nil, length: 10)
        try await area.create(upload)
        return upload
    }

    private static func append(
        _ bytes: String, to upload: Upload, at offset: Int64, in area: any UploadArea
    ) async throws {
        let writer = try await area.open(upload, at: offset)
        try await writer.write(Array(bytes.utf8))
        try await writer.close()
    }

    private static func offset(of upload: Upload, in area: any UploadArea) async throws -> Int64? {
        try await area.upload(upload.id, of: mine)?.offset
    }

    package static let clauses: [Clause<any UploadArea>] = [
        Clause("an upload begins empty, with its terms, and is its tenant's alone") { area in
            let upload = try await create(in: area)
            let found = try await area.upload(upload.id, of: mine)
            return compare("offset", found?.offset, 0) + compare("type", found?.upload.contentType, "text/plain")
                + compare("length", found?.upload.length, 10)
                + compare("another's", try await area.upload(upload.id, of: other) == nil, true)
                + compare("unknown", try await area.upload(Upload.ID(in: area.volume), of: mine) == nil, true)
        },
        Clause("an upload grows piece by piece, in one file") { area in
            let upload = try await create(in: area)
            try await append("hel", to: upload, at: 0, in: area)
            try await append("lo", to: upload, at: 3, in: area)
            let bytes = FileManager.default.contents(atPath: area.path(of: upload))
            return compare("offset", try await offset(of: upload, in: area), 5)
                + compare("bytes", bytes.map { String(decoding: $0, as: UTF8.self) }, "hello")
        },
        Clause("what lies behind the place where it goes on is cut off") { area in
            let upload = try await create(in: area)
            try await append("hello", to: upload, at: 0, in: area)
            try await area.open(upload, at: 2).close()
            return compare("offset", try await offset(of: upload, in: area), 2)
        },
        Clause("an upload is removed by its tenant alone, and one that is gone can be") { area in
            let upload = try await create(in: area)
            try await area.remove(upload.id, of: other)
            let there = try await offset(of: upload, in: area)
            for _ in 0..<2 { try await area.remove(upload.id, of: mine) }
            return compare("there", there, 0) + compare("then", try await offset(of: upload, in: area), nil)
                + compare("file", FileManager.default.fileExists(atPath: area.path(of: upload)), false)
        },
        Clause("uploads that were begun before a time are removed, and no others") { area in
            let upload = try await create(in: area)
            try await area.remove(begunBefore: .now.advanced(by: .seconds(-60)))
            let there = try await offset(of: upload, in: area)
            try await area.remove(begunBefore: .now.advanced(by: .seconds(60)))
            return compare("there", there, 0) + compare("then", try await offset(of: upload, in: area), nil)
        },
    ]
}
