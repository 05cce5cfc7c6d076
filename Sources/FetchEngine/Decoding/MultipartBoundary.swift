/// The boundary of a multipart response whose parts replace one another.
package struct MultipartBoundary: Equatable, Sendable {
    /// As the parameter says it.
    let text: String

    /// Reads a `Content-Type`; nil when it is not `multipart/x-mixed-replace` or names no boundary.
    ///
    /// Other multipart types are not split: their parts belong together (MPR-5).
    init?(_ mediaType: MediaType) {
        // RFC 2046 §5.1.1 allows 70 characters; longer ones are met.
        guard mediaType.essence == "multipart/x-mixed-replace", let text = mediaType["boundary"],
            (1...256).contains(text.utf8.count)
        else { return nil }
        self.text = text
    }
}
