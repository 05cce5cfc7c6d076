import HTTPTypes

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
