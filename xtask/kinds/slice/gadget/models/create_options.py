class CreateOptions(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'colour': 'str',
            'weight': 'int',
        }
        self.attribute_map = {
            'colour': 'colour',
            'weight': 'weight',
        }

    @property
    def colour(self):
        """
        Gets the colour.
        """
        return self._colour

    @property
    def weight(self):
        """
        Gets the weight.
        """
        return self._weight
