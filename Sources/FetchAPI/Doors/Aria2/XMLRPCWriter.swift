import FetchJobs

/// Writes answers of XML-RPC, of values that are JSON.
struct XMLRPCWriter {
    private(set) var bytes: [UInt8] = []

    /// The answer to a call.
    static func answer(_ result: Result<RawJSON, Aria2Failure>) -> [UInt8] {
        var writer = Self()
        writer.write("<?xml version=\"1.0\"?><methodResponse>")
        switch result {
        case .success(let value):
            writer.write("<params><param>")
            writer.write(value)
            writer.write("</param></params>")
        case .failure(let failure):
            writer.write("<fault>")
            writer.write(RawJSON(JSONWriter.object { failure.write(&$0, in: .xml) }))
            writer.write("</fault>")
        }
        writer.write("</methodResponse>")
        return writer.bytes
    }

    private mutating func write(_ text: String) { bytes += text.utf8 }

    /// Goes through JSON of our own from its beginning to its end; it is well-formed, and as deep as we made it.
    private mutating func write(_ value: RawJSON) {
        let json = value.bytes
        /// What ends each value that is open.
        var open: [Bool] = []
        var isName = false
        var position = 0
        func end(of start: Int, while isPart: (UInt8) -> Bool) -> Int {
            json[start...].firstIndex { !isPart($0) } ?? json.count
        }
        while position < json.count {
            let byte = json[position]
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                isName = byte == UInt8(ascii: "{")
                open.append(isName)
                write(isName ? "<value><struct>" : "<value><array><data>")
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                let isStruct = open.popLast() == true
                write(isStruct ? "</struct></value>" : "</data></array></value>")
                endMember(open)
                isName = false
                position += 1
            case UInt8(ascii: ","):
                isName = open.last == true
                position += 1
            case UInt8(ascii: "\""):
                let end = Self.endOfText(in: json, from: position)
                write(text: json[position..<end], isName: isName)
                if !isName { endMember(open) }
                isName = false
                position = end
            case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
                let end = end(of: position) { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
                let word = byte == UInt8(ascii: "t") ? "1" : "0"
                write(
                    byte == UInt8(ascii: "n")
                        ? "<value><nil/></value>" : "<value><boolean>\(word)</boolean></value>")
                endMember(open)
                position = end
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let end = end(of: position) { "+-.eE0123456789".utf8.contains($0) }
                let isWhole = !json[position..<end].contains { ".eE".utf8.contains($0) }
                write(isWhole ? "<value><int>" : "<value><double>")
                bytes += json[position..<end]
                write(isWhole ? "</int></value>" : "</double></value>")
                endMember(open)
                position = end
            default: position += 1
            }
        }
    }

    private mutating func endMember(_ open: [Bool]) { if open.last == true { write("</member>") } }

    private static func endOfText(in json: [UInt8], from start: Int) -> Int {
        var position = start + 1
        while position < json.count, json[position] != UInt8(ascii: "\"") {
            position += json[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(position + 1, json.count)
    }

    private mutating func write(text json: ArraySlice<UInt8>, isName: Bool) {
        // A text of ours that cannot be read is none.
        let text = (try? JSONParser.parse(json))?.text ?? ""
        write(isName ? "<member><name>" : "<value><string>")
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "<"): write("&lt;")
            case UInt8(ascii: ">"): write("&gt;")
            case UInt8(ascii: "&"): write("&amp;")
            case UInt8(ascii: "\""): write("&quot;")
            case UInt8(ascii: "'"): write("&#39;")
            // XML has no other control characters.
            case 0..<0x20 where ![0x09, 0x0A, 0x0D].contains(byte): write("\u{FFFD}")
            default: bytes.append(byte)
            }
        }
        write(isName ? "</name>" : "</string></value>")
    }
}
