/// What to write in place of an option that curl or wget has and `fetchd get` has not.
enum GetAdvice {
    /// The names of options, and the advice.
    static let known: [(names: Set<String>, text: String)] = [
        (["-v", "--verbose"], "-i shows the head of the answer, and --json all that is known of the load."),
        (["-q", "--quiet"], "-s is silent."),
        (["-c", "--continue"], "-C - goes on where a file ends. Cookies are not kept."),
        (["-b", "--cookie", "--cookie-jar"], "-H 'Cookie: name=value' sends cookies. None are kept."),
        (["-A", "--user-agent"], "-H 'User-Agent: name' says who asks."),
        (["-e", "--referer"], "-H 'Referer: URL' says where from."),
        (["-r", "--range"], "-H 'Range: bytes=0-99' asks for a part."),
        (["-G", "--get", "--data-urlencode"], "Write the query into the URL."),
        (["--data-raw"], "-d sends a text, unless it begins with @."),
        (["-w", "--write-out"], "--json tells status, times and sizes."),
        (["-D", "--dump-header"], "-i writes the head before the body, and -I alone."),
        (["--output-document", "--"], "-o FILE names the file. Without it the body goes to standard output."),
        (["-J", "--remote-header-name", "--content-disposition"], "-O takes the name of the URL, never the server's."),
        (["-P", "--directory-prefix", "--output-dir"], "-o DIRECTORY/FILE names the file with its directory."),
        (["-N", "--timestamping", "-nc", "--no-clobber"], "-H 'If-Modified-Since: …' asks for what is newer."),
        (["--spider"], "-I asks for the head alone."),
        (["--compressed"], "Leave it out: content is asked for compressed, and written as it was before."),
        (["--no-check-certificate"], "Certificates are always verified; --cacert FILE names an authority to trust."),
        (["-t", "--tries"], "--retry COUNT tries again."),
        (["--timeout"], "--max-time SECONDS is for the whole load, --connect-timeout for the connection."),
        (["--fail-with-body"], "-f fails without a body; without it the body is written whatever the status."),
        (["-4", "-6", "--ipv4", "--ipv6"], "Leave it out: the address that answers first is taken."),
        (["--http1.1", "--http2", "--http3"], "Leave it out: the newest version that both sides know is spoken."),
    ]

    /// The advice about a wrong command line; nil for none.
    ///
    /// - Parameters:
    ///   - arguments: Those of `get`.
    ///   - message: What the parser says of them.
    static func text(_ arguments: [String], _ message: String) -> String? {
        let named = message.firstMatch(of: /Unknown option '(-[^']*)'/).map { String($0.1) }
        let options = arguments.prefix { $0 != "--" }.map { argument in
            String(argument.hasPrefix("--") ? argument.prefix { $0 != "=" } : argument[...])
        }
        for option in ([named].compactMap(\.self) + options) {
            if let advice = known.first(where: { $0.names.contains(option) }) { return "\(option): \(advice.text)" }
        }
        return nil
    }
}
