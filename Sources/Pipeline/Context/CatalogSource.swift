package import BellhopRules
import Synchronization

/// The catalogues in force, which a reload replaces between two batches.
package final class CatalogSource: Sendable {
    private let catalogs: Mutex<CatalogSet>

    package init(_ catalogs: CatalogSet) {
        self.catalogs = Mutex(catalogs)
    }

    package var current: CatalogSet {
        catalogs.withLock { $0 }
    }

    /// Puts others into force; batches that have begun end with the ones they began with.
    func replace(_ others: CatalogSet) {
        catalogs.withLock { $0 = others }
    }
}
