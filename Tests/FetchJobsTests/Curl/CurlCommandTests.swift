import Testing

@testable import FetchJobs

@Suite struct CurlCommandTests {
    private static func job(_ command: String) throws -> String { try CurlCommand("curl " + command).job.json }

    /// The request and the configuration of a command, as JSON without the redirect policy of a command without -L.
    private static func follows(_ command: String) throws -> String { try job("-L " + command) }

    @Test(arguments: [
        ("https://a.example/", #"{"request":{"url":"https://a.example/"}}"#),
        ("a.example/x", #"{"request":{"url":"http://a.example/x"}}"#),
        ("-XDELETE --url https://a.example/", #"{"request":{"url":"https://a.example/","method":"DELETE"}}"#),
        ("-I https://a.example/", #"{"request":{"url":"https://a.example/","method":"HEAD"}}"#),
        (
            "-H 'A: b' -H 'C;' -H 'D:' -A me -e 'https://b.example/;auto' https://a.example/",
            #"{"request":{"url":"https://a.example/","headers":[{"name":"A","value":"b"},{"name":"C","value":""},"#
                + #"{"name":"User-Agent","value":"me"},{"name":"Referer","value":"https://b.example/"}]}}"#
        ),
        (
            "-b a=b -b 'c=d' -r 0-9 https://a.example/",
            #"{"request":{"url":"https://a.example/","headers":[{"name":"Cookie","value":"a=b; c=d"},"#
                + #"{"name":"Range","value":"bytes=0-9"}]}}"#
        ),
        (
            "-d a=b --data-raw @c --data-urlencode 'd=e f' --data-urlencode 'g h' https://a.example/",
            #"{"request":{"url":"https://a.example/","method":"POST","headers":[{"name":"Content-Type","#
                + #""value":"application/x-www-form-urlencoded"}],"body":{"text":"a=b&@c&d=e%20f&g%20h"}}}"#
        ),
        (
            "-G -d a=b -d c 'https://a.example/?x#y'",
            #"{"request":{"url":"https://a.example/?x&a=b&c#y"}}"#
        ),
        (
            #"--json '{"a":1}' https://a.example/"#,
            #"{"request":{"url":"https://a.example/","method":"POST","headers":[{"name":"Content-Type","#
                + #""value":"application/json"},{"name":"Accept","value":"application/json"}],"#
                + #""body":{"text":"{\"a\":1}"}}}"#
        ),
        (
            "-F a=b --form-string c=@d https://a.example/",
            #"{"request":{"url":"https://a.example/","method":"POST","body":{"multipart":[{"name":"a","text":"b"},"#
                + #"{"name":"c","text":"@d"}]}}}"#
        ),
        (
            "-u me:x:y https://a.example/",
            #"{"request":{"url":"https://a.example/","headers":[{"name":"Authorization","value":"Basic bWU6eDp5"}]}}"#
        ),
        (
            "--digest -u me:x -m 5 --connect-timeout 1.5 --retry 2 -x proxy.example -U p:q https://a.example/",
            #"{"request":{"url":"https://a.example/"},"configuration":{"timeouts":{"timeoutIntervalForResource":5.0,"#
                + #""connect":1.5},"retry":{"maximumAttempts":3,"statuses":[408,429,500,502,503,504]},"#
                + #""proxy":{"url":"http://proxy.example:1080","credential":{"user":"p","password":"q"}},"#
                + #""authentication":{"credential":{"user":"me","password":"x"},"methods":["digest"]}}}"#
        ),
        (
            "--compressed -H 'Accept-Encoding: gzip' -4 --http1.1 --tlsv1.3 --max-redirs 3 https://a.example/",
            #"{"request":{"url":"https://a.example/"},"configuration":{"connections":{"addressFamily":"ipv4","#
                + #""httpVersion":"1.1"},"tls":{"minimumVersion":"1.3"},"redirects":{"maximum":3}}}"#
        ),
    ])
    func `a command becomes a job`(command: String, json: String) throws {
        #expect(try Self.follows(command) == json)
        _ = try JobSpec(json: JSONParser.parse(json.utf8))
    }

    @Test func `without -L redirects are not followed`() throws {
        #expect(
            try Self.job("https://a.example/")
                == #"{"request":{"url":"https://a.example/"},"configuration":{"redirects":{"policy":"return"}}}"#)
    }

    @Test func `what is about the terminal is left out, and told`() throws {
        let command = try CurlCommand(
            "/usr/bin/curl -sSfLo out.html -w '%{http_code}' -H 'Connection: keep-alive' -H 'Host: a.example' "
                + "https://a.example/ -# --no-progress-meter")
        #expect(command.job.json == #"{"request":{"url":"https://a.example/"}}"#)
        #expect(command.notes.count == 4)
        #expect(command.notes[0].hasPrefix("-f is left out: a job succeeds with any status"))
        #expect(command.notes[3] == "Connection, Host is left out: the service sets it itself.")
        #expect(try CurlCommand("curl -fffff -f https://a.example/").notes.count == 1)
    }

    @Test(arguments: [
        ("-k https://a.example/", "-k: certificates are always verified"),
        ("--insecure https://a.example/", "--insecure: certificates"),
        ("-d @file https://a.example/", "-d: the content is in a file"),
        ("-F a=@file https://a.example/", "-F: the content is in a file"),
        ("-F 'a=b;type=c/d' https://a.example/", "-F: types and names"),
        ("-T file https://a.example/", "-T: the content is in a file"),
        ("-b jar https://a.example/", "-b: the cookies are in a file"),
        ("-c jar https://a.example/", "-c: a session keeps cookies"),
        ("--resolve a:1:b https://a.example/", "--resolve: the service chooses addresses"),
        ("-u me https://a.example/", "-u: the password is missing"),
        ("-x me:x@proxy:1 https://a.example/", "-x: name the proxy's user by -U"),
        ("-H 'Host: b.example' https://a.example/", "-H: Host is that of the URL"),
        ("-H x https://a.example/", "-H: a field is written"),
        ("-m soon https://a.example/", "-m: the value is no number"),
        ("https://a.example/ https://b.example/", "more than one URL"),
        ("https://a.example/{1,2}", "braces or brackets"), ("-s", "no URL"), ("-X", "-X: its value is missing"),
        ("--fancy https://a.example/", "--fancy: no option"), ("-@ https://a.example/", "-@: no option"),
        ("-d a -F b=c https://a.example/", "a request can have one"),
        ("https://a.example/ | jq .", "“|” outside of quotes"), ("https://a.example/$ID", "what only your shell knows"),
    ])
    func `what a job cannot say is refused by name, with a reason`(command: String, reason: String) {
        let fault = #expect(throws: CurlCommand.Fault.self) { try CurlCommand("curl " + command) }
        #expect(fault?.description.contains(reason) == true, "\(String(describing: fault))")
    }

    @Test func `it is a curl command of a size that somebody has written`() {
        for text in ["", "wget https://a.example/", "curl " + String(repeating: "a", count: CurlCommand.maximumLength)]
        {
            #expect(throws: CurlCommand.Fault.self) { try CurlCommand(text) }
        }
        #expect(throws: CurlCommand.Fault("An argument has more than 30 combining marks in a row.")) {
            try CurlCommand("curl https://a.example/ -H $'a: \(String(repeating: "\\u0315", count: 31))'")
        }
        #expect(throws: CurlCommand.Fault("The command has more than 1000 arguments.")) {
            try CurlCommand("curl a " + String(repeating: "-s ", count: 1000))
        }
    }

    @Test func `no fault tells a secret`() {
        for command in [
            "-H 'Authorization Bearer hunter2' a", "-F hunter2 a", "-u hunter2 a", "-m hunter2 a", "-dhunter2",
        ] {
            let fault = #expect(throws: CurlCommand.Fault.self) { try CurlCommand("curl " + command) }
            #expect(fault?.description.contains("hunter2") == false)
        }
    }

    @Test func `brackets of an address are no pattern`() throws {
        #expect(try Self.follows("'http://[::1]:80/'") == #"{"request":{"url":"http://[::1]:80/"}}"#)
        #expect(try Self.follows("-g 'http://a.example/{x}'") == #"{"request":{"url":"http://a.example/{x}"}}"#)
    }
}
