import HTTPTypes

/// How an upload that breaks off is kept, and gone on with.
public enum UploadProtocol: String, Sendable, Hashable, Codable, CaseIterable {
    /// The IETF's draft (draft-ietf-httpbis-resumable-upload, interoperability version 6): the upload is the caller's
    /// request, and a server that keeps it says so on the way.
    case draft
    /// tus 1.0: a POST makes the upload, and PATCH sends it, to where the server keeps it.
    ///
    /// Content whose length is not known goes to the server as it would without.
    case tus
}

extension UploadProtocol {
    /// The version that is spoken, and the field that says it.
    var version: HTTPField {
        switch self {
        case .draft: HTTPField(name: .uploadDraftInteropVersion, value: UploadMachine.version)
        case .tus: HTTPField(name: .tusResumable, value: "1.0.0")
        }
    }

    /// The type of a part of an upload.
    var partType: String {
        switch self {
        case .draft: "application/partial-upload"
        case .tus: "application/offset+octet-stream"
        }
    }
}
