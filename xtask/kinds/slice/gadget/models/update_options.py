class UpdateOptions(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'weight': 'int',
        }
        self.attribute_map = {
            'weight': 'weight',
        }

    @property
    def weight(self):
        """
        Gets the weight.
        """
        return self._weight
