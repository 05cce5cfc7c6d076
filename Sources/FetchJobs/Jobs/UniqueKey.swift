/// What a job has in common with others of which only the first is stored.
package struct UniqueKey: Sendable, Equatable {
    package let key: String
    /// For how long after the first job was stored others with its key are taken for it.
    package let window: Duration

    static let maximumKeyBytes = 256
    /// From a second to a week, in seconds.
    private static let windows = 1.0...604_800
    private static let defaultWindow = Duration.seconds(600)

    init?(reader: JSONReader) {
        guard let object = reader.object(of: ["key", "window"]), let key = object.required("key"),
            let text = key.string()
        else { return nil }
        if !(1...Self.maximumKeyBytes).contains(text.utf8.count) {
            key.refuse("must have 1 to \(Self.maximumKeyBytes) bytes")
        }
        self.key = text
        window = object["window"].flatMap { $0.seconds(in: Self.windows) } ?? Self.defaultWindow
    }

    func write(_ writer: inout JSONWriter) {
        writer.member("key", key)
        writer.member("window", window.seconds)
    }
}
