import FetchEngine
import FetchJobs
import HTTPTypes
import Testing

/// Requests that are signed with an AWS access key.
@Suite struct SignedRequestTests {
    private static let time = Timestamp(rfc3339: "2015-08-30T12:36:00Z")!

    private func signature(_ service: String, token: String? = nil) throws -> SignatureV4 {
        let keys = AWSKeys(
            secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", sessionToken: token, region: "us-east-1",
            service: service)
        return try #require(SignatureV4(Credential(accessKeyID: "AKIDEXAMPLE", awsKeys: keys)))
    }

    private func signed(_ request: Request, _ service: String, token: String? = nil) throws -> HTTPFields {
        var request = request
        try signature(service, token: token).sign(&request, at: Self.time)
        return request.headerFields
    }

    // The published vectors get-vanilla, get-vanilla-query-order-key-case and post-vanilla.
    @Test(arguments: [
        ("GET", "https://example.amazonaws.com/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        (
            "GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
        ),
        ("POST", "https://example.amazonaws.com/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    ])
    func `a request is signed as the published vectors are`(method: String, url: String, signature: String) throws {
        let method = try #require(HTTPRequest.Method(method))
        let fields = try signed(Request(url: try URLRecord(url), method: method), "service")
        #expect(
            fields[.authorization]
                == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
                + "SignedHeaders=host;x-amz-date, Signature=\(signature)")
    }

    @Test func `S3 is told what of the body is signed, and keys for a while come with their token`() throws {
        let url = try URLRecord("https://b.s3.amazonaws.com:8443/a%20b?x")
        var request = Request(url: url, method: .put, body: .bytes(Array("hello".utf8)))
        request.headerFields[.contentType] = "text/plain"
        let fields = try signed(request, "s3", token: "token")
        let hash = HTTPField.Name("x-amz-content-sha256")!
        #expect(fields[hash] == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")
        #expect(fields[HTTPField.Name("x-amz-security-token")!] == "token")
        #expect(
            fields[.authorization]?.contains(
                "SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token") == true)
        request.body = .file(path: "/x")
        #expect(try signed(request, "s3")[hash] == "UNSIGNED-PAYLOAD")
        #expect(throws: LoadError.self) { try signed(request, "execute-api") }
    }

    @Test func `other credentials sign nothing`() {
        #expect(SignatureV4(Credential(user: "u", password: "p")) == nil)
    }
}
