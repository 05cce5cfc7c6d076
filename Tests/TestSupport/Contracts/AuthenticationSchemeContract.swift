package import FetchEngine

/// The contract of every form of ``AuthenticationScheme``, whatever it proves.
package enum AuthenticationSchemeContract {
    /// A scheme, and the credentials and challenges that it has to tell apart.
    package struct Subject: Sendable {
        package let scheme: any AuthenticationScheme
        /// A credential that it accepts, and one that it does not.
        package let accepted: Credential
        package let refused: Credential
        /// A challenge that it answers; nil when it needs none.
        package let challenge: OfferedChallenge?

        package init(
            _ scheme: any AuthenticationScheme, accepted: Credential, refused: Credential,
            challenge: OfferedChallenge? = nil
        ) {
            self.scheme = scheme
            self.accepted = accepted
            self.refused = refused
            self.challenge = challenge
        }

        fileprivate func field(with credential: Credential, url: String = "https://h.example/a?b") async throws
            -> String?
        {
            await scheme.authorization(
                for: Request(url: try URLRecord(url)), answering: challenge, with: credential)
        }
    }

    package static let clauses: [Clause<Subject>] = [
        Clause("the name is a token in lower case") { subject in
            let name = subject.scheme.name
            let isToken = name.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
            return compare("is token", isToken && !name.isEmpty, true)
        },
        Clause("it answers for a method of its own, not for one of connections") { subject in
            compare("session level", subject.scheme.method.isSessionLevel, false)
                + compare("is empty", subject.scheme.method.rawValue.isEmpty, false)
        },
        Clause("the field of an accepted credential begins with the name and has no control characters") { subject in
            guard let field = try await subject.field(with: subject.accepted) else { return ["there is no field"] }
            return compare("accepts", subject.scheme.accepts(subject.accepted), true)
                + compare("name", field.lowercased().hasPrefix(subject.scheme.name + " "), true)
                + compare("is clean", field.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, true)
        },
        Clause("a credential that it cannot express is refused and gives no field") { subject in
            let field = try await subject.field(with: subject.refused)
            return compare("accepts", subject.scheme.accepts(subject.refused), false)
                + compare("has field", field != nil, false)
        },
        Clause("text of the credential cannot end the field") { subject in
            let broken = Credential(user: "a\r\nb", password: "c\r\nX-Injected: 1")
            let field = try await subject.field(with: broken) ?? ""
            return compare("is clean", field.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, true)
        },
        Clause("it answers many requests at once") { subject in
            try await withThrowingTaskGroup(of: String?.self) { group in
                for number in 0..<64 {
                    group.addTask {
                        try await subject.field(with: subject.accepted, url: "https://h.example/\(number)")
                    }
                }
                return try await group.reduce([]) { $0 + ($1 == nil ? ["a request got no field"] : []) }
            }
        },
    ]
}
