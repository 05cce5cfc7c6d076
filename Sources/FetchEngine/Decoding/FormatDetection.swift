/// Finds out whether a file is in a format that one of the decoders undoes.
///
/// The type and the name only say where to look: a file without the content of the format is left as it is, with any
/// name (DCD-3).
struct FormatDetection {
    enum Verdict {
        case decoder(any BodyDecoder.Type)
        case none
        /// More of the file's beginning is needed.
        case needsMore
    }

    /// More of a file is never looked at.
    static let maximumHead = 4096

    let decoders: [any BodyDecoder.Type]
    let mediaType: String?
    let filename: Filename

    /// Judges the first bytes of a file.
    func verdict(on head: [UInt8], isComplete: Bool) -> Verdict {
        let isComplete = isComplete || head.count >= Self.maximumHead
        for decoder in decoders.filter(isLabelled) + decoders.filter({ !isLabelled($0) }) {
            switch decoder.recognizes(head, isComplete: isComplete, isLabelled: isLabelled(decoder)) {
            case .yes: return .decoder(decoder)
            case .no: continue
            case .needsMore: return isComplete ? .none : .needsMore
            }
        }
        return .none
    }

    private func isLabelled(_ decoder: any BodyDecoder.Type) -> Bool {
        let ending = filename.fileExtension.split(separator: ".").last?.lowercased() ?? ""
        return mediaType.map(decoder.mediaTypes.contains) == true || decoder.filenameExtensions.contains(ending)
    }
}

extension Filename {
    /// The name of the decoded file: the one inside, else this one without the format's extension (DCD-8).
    func decoded(by decoder: any BodyDecoder.Type, _ attributes: DecodedAttributes) -> Filename {
        if let name = attributes.name.flatMap(Filename.init(sanitizing:)) { return name }
        for ending in decoder.filenameExtensions {
            if let name = removing(extension: ending, replacement: ending == "tgz" ? "tar" : "") { return name }
        }
        return self
    }
}
