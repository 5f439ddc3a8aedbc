class GadgetCollection(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'items': 'list[GadgetSummary]',
        }
        self.attribute_map = {
            'items': 'items',
        }

    @property
    def items(self):
        """
        Gets the items.
        """
        return self._items
