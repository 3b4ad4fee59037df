import BellhopJSON
package import Store

/// An operator who performs an act, with the agreement if the act asks for one.
package struct Consent: Sendable {
    package let by: ActingOperator
    package let agreement: Agreement?

    package init(by operator: ActingOperator, agreement: Agreement?) {
        by = `operator`
        self.agreement = agreement
    }

    /// Returns what an act may do: the question's count and time, if the agreement covers them.
    package func agreement(to question: ActQuestion) -> Agreement? {
        guard let agreement, agreement.covers(question.count) else { return nil }
        return question.agreement
    }
}

extension ActQuestion {
    /// The agreement of an operator who says yes.
    package var agreement: Agreement { Agreement(count: count, asOf: asOf) }
}

extension Consent? {
    /// Performs an act, or returns its question if there is no agreement yet, or if it no longer fits.
    func agreeing(
        to question: ActQuestion,
        _ act: (Agreement, ActingOperator) async throws -> JSONValue
    ) async throws -> ActAnswer {
        guard let self, let agreement = self.agreement(to: question) else { return .question(question) }
        return .done(try await act(agreement, self.by))
    }

    /// The operator of an act that asks no question.
    var required: ActingOperator {
        get throws(OperationError) {
            guard let self else { throw .invalid("because", "is missing") }
            return self.by
        }
    }
}
