/// The answers that sessions remember, as their clients see them.
package protocol AnswerCatalog: Sendable {
    /// The answers of a session that are not over, the newest first: the order in which they are looked at.
    func rememberedAnswers(of session: SessionAddress) async throws(StoreError) -> [RememberedAnswer]

    /// Forgets the answer to a question, or all of them where none is named.
    ///
    /// - Returns: How many were forgotten.
    func forget(_ question: Question.ID?, of session: SessionAddress) async throws(StoreError) -> Int
}
