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
