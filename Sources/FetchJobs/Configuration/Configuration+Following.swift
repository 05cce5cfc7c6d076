package import FetchEngine

extension Configuration {
    /// The action on a redirect response: follow it, return it as the response, or fail.
    package struct Redirects: ConfigurationGroup {
        package var policy: RedirectConfiguration.Policy?
        package var maximum: Int?
        package var allowHTTPSToHTTP: Bool?
        package var preserveMethod: Bool?
        package var allowedHosts: Set<String>?
        package var forwardCredentialsToHosts: Set<String>?

        package init() {}

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember(
                "policy", \.policy, .choice(["follow": .follow, "return": .return, "fail": .fail]), \.redirects.policy),
            ConfigurationMember("maximum", \.maximum, .integer(0...100), \.redirects.maximum),
            ConfigurationMember("allowHTTPSToHTTP", \.allowHTTPSToHTTP, .bool, \.redirects.allowHTTPSToHTTP),
            ConfigurationMember("preserveMethod", \.preserveMethod, .bool, \.redirects.preserveMethod),
            ConfigurationMember(
                "allowedHosts", \.allowedHosts, .hosts(upTo: 100), optional: \.redirects.allowedHosts),
            ConfigurationMember(
                "forwardCredentialsToHosts", \.forwardCredentialsToHosts, .hosts(upTo: 100),
                \.redirects.forwardCredentialsToHosts),
        ]
    }

    /// In seconds.
    package struct Timeouts: ConfigurationGroup {
        package var timeoutIntervalForRequest: Duration?
        package var timeoutIntervalForResource: Duration?
        package var connect: Duration?

        package init() {}

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember(
                "timeoutIntervalForRequest", \.timeoutIntervalForRequest, .seconds, \.timeoutIntervalForRequest),
            ConfigurationMember(
                "timeoutIntervalForResource", \.timeoutIntervalForResource, .seconds,
                optional: \.timeoutIntervalForResource),
            ConfigurationMember("connect", \.connect, .seconds, \.connectTimeout),
        ]
    }

    package struct Response: ConfigurationGroup {
        /// A format of files that downloads decode.
        package enum Format: String, Sendable, CaseIterable {
            case gzip
            case macBinary
            case binHex
        }

        /// The parts that are kept of a body whose parts replace one another (`multipart/x-mixed-replace`).
        package enum MultipartReplace: String, Sendable, CaseIterable {
            /// The last part.
            case last
            /// All parts, one after the other.
            case all
        }

        package var maximumBytes: Int64?
        package var verifyDigests: Bool?
        // The other members take effect where a job runs: no setting of the engine stands for them.
        package var decode: [Format]?
        package var becomeDownload: BecomeDownload?
        package var multipartReplace: MultipartReplace?

        package init() {}

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember(
                "maximumBytes", \.maximumBytes, .integer(0...(1 << 50)), optional: \.maximumResponseBytes),
            ConfigurationMember("verifyDigests", \.verifyDigests, .bool, \.verifiesContentDigests),
            ConfigurationMember(
                "decode", \.decode, .list(of: .anyCase, upTo: Format.allCases.count),
                get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "becomeDownload", \.becomeDownload, .becomeDownload, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "multipartReplace", \.multipartReplace, .anyCase, get: { _ in nil }, set: { _, _ in }),
        ]
    }

    package struct Upload: ConfigurationGroup {
        package var expectContinue: ExpectContinuePolicy?
        /// Of a body whose request names none.
        ///
        /// Happens where a job runs: no setting of the engine stands for it.
        package var contentType: String?
        /// How many bytes of a streamed body are kept, so that it can be sent again; nil for none.
        ///
        /// Likewise.
        package var spoolBytes: Int64?
        /// In which bodies are sent over http and https; likewise.
        package var coding: BodyCoding?

        package init() {}

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember("expectContinue", \.expectContinue, .anyCase, \.expectContinue),
            ConfigurationMember("contentType", \.contentType, .contentType, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "spoolBytes", \.spoolBytes, .integer(1...(1 << 50)), get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("coding", \.coding, .anyCase, get: { _ in nil }, set: { _, _ in }),
        ]
    }
}

private func isPrintable(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7E).contains($0) } }

extension ConfigurationRule where Value == String {
    fileprivate static var contentType: Self {
        .text(
            upTo: 255,
            "must be a media type (RFC 9110 §8.3.1)",
            parse: { $0.wholeMatch(of: #/[^\/ ;]+\/[^\/ ;]+( *;[ -~]*)?/#) != nil && isPrintable($0) ? $0 : nil },
            text: { $0 }
        )
    }
}
