extension Configuration {
    /// Which responses make a download of a data or upload job: its body becomes a file (LIF-7).
    ///
    /// One that names nothing is met by none.
    package struct BecomeDownload: Sendable, Equatable {
        /// Responses of these types.
        package var mimeTypes: [MIMETypePattern] = []
        /// Responses with more bytes.
        package var aboveBytes: Int64?

        package init() {}
    }

    /// A MIME type, `type/*` for all of a type, or `*/*` for all (RFC 9110 §12.5.1).
    package struct MIMETypePattern: Sendable, Equatable {
        /// In lower case.
        package let text: String

        /// - Parameter text: Nil is the answer to one that is no pattern.
        package init?(_ text: String) {
            let pattern = #/[A-Za-z0-9!#$&^_.+\-]+\/(\*|[A-Za-z0-9!#$&^_.+\-]+)/#
            guard text == "*/*" || text.wholeMatch(of: pattern) != nil else { return nil }
            self.text = text.lowercased()
        }

        /// - Parameter type: In lower case.
        package func matches(_ type: String) -> Bool {
            text == "*/*" || (text.hasSuffix("/*") ? type.hasPrefix(text.dropLast()) : type == text)
        }
    }
}

extension ConfigurationRule where Value == Configuration.BecomeDownload {
    static var becomeDownload: Self {
        let types = ConfigurationRule<[Configuration.MIMETypePattern]>.list(of: .mimeType, upTo: 100)
        return Self(
            read: { reader in
                guard let object = reader.object(of: ["mimeTypes", "aboveBytes"]) else { return nil }
                var value = Configuration.BecomeDownload()
                value.mimeTypes = object["mimeTypes"].flatMap { types.read($0) } ?? []
                value.aboveBytes = object["aboveBytes"]?.integer(in: 0...(1 << 50))
                return value
            },
            write: { value, writer in
                writer.object { writer in
                    if !value.mimeTypes.isEmpty {
                        writer.name("mimeTypes")
                        types.write(value.mimeTypes, &writer)
                    }
                    writer.member("aboveBytes", value.aboveBytes)
                }
            }
        )
    }
}

extension ConfigurationRule where Value == Configuration.MIMETypePattern {
    fileprivate static var mimeType: Self {
        .text(
            upTo: 127, "must be a MIME type, a type and \"/*\", or \"*/*\"",
            parse: { Configuration.MIMETypePattern($0) },
            text: { $0.text })
    }
}
